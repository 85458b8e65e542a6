import numpy as np
from harness import measure, noise
from numba import njit


@njit
def cholesky(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)


def definite(n):
    a = noise(n, n)
    return a @ a.T + n * np.eye(n)


measure("cholesky", cholesky, lambda: (definite(70),))
