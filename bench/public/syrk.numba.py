from harness import measure, noise
from numba import njit


@njit
def syrk(alpha, beta, c, a):
    for i in range(a.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c


measure("syrk", syrk, lambda: (1.5, 1.2, noise(70, 70), noise(70, 50)))
