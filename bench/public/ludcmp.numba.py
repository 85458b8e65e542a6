import numpy as np
from harness import measure, noise
from numba import njit


@njit
def ludcmp(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    for i in range(n):
        rest = b[i]
        for j in range(i):
            rest -= a[i, j] * y[j]
        y[i] = rest
    for i in range(n - 1, -1, -1):
        rest = y[i]
        for j in range(i + 1, n):
            rest -= a[i, j] * x[j]
        x[i] = rest / a[i, i]
    return x


measure("ludcmp", ludcmp, lambda: (noise(60, 60) + 60 * np.eye(60), noise(60)))
