from harness import measure, noise
from numba import njit


@njit
def trmm(alpha, a, b):
    m, n = b.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] *= alpha
    return b


measure("trmm", trmm, lambda: (1.5, noise(60, 60), noise(60, 70)))
