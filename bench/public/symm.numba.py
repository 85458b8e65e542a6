from harness import measure, noise
from numba import njit


@njit
def symm(alpha, beta, c, a, b):
    m, n = c.shape
    c *= beta
    for i in range(m):
        for j in range(n):
            below = 0.0
            for k in range(i):
                c[k, j] += alpha * b[i, j] * a[i, k]
                below += b[k, j] * a[i, k]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * below
    return c


measure("symm", symm, lambda: (1.5, 1.2, noise(40, 50), noise(40, 40), noise(40, 50)))
