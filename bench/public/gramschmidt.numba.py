import numpy as np
from harness import measure, noise
from numba import njit


@njit
def gramschmidt(a):
    m, n = a.shape
    q = np.zeros_like(a)
    r = np.zeros((n, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += a[i, k] * a[i, k]
        r[k, k] = np.sqrt(norm)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, n):
            for i in range(m):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(m):
                a[i, j] -= q[i, k] * r[k, j]
    return r


measure("gramschmidt", gramschmidt, lambda: (noise(80, 60) + np.eye(80, 60),))
