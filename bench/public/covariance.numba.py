import numpy as np
from harness import measure, noise
from numba import njit


@njit
def covariance(data):
    n, m = data.shape
    for j in range(m):
        data[:, j] -= data[:, j].mean()
    c = np.zeros((m, m))
    for i in range(m):
        for k in range(n):
            for j in range(i, m):
                c[i, j] += data[k, i] * data[k, j]
        for j in range(i, m):
            c[i, j] /= n - 1.0
            c[j, i] = c[i, j]
    return c


measure("covariance", covariance, lambda: (noise(140, 120),))
