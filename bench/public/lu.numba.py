import numpy as np
from harness import measure, noise
from numba import njit


@njit
def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return a


measure("lu", lu, lambda: (noise(60, 60) + 60 * np.eye(60),))
