import numpy as np
from harness import measure, noise
from numba import njit


@njit
def correlation(data):
    n, m = data.shape
    for j in range(m):
        mean = data[:, j].mean()
        deviation = data[:, j].std()
        if deviation <= 0.1:
            deviation = 1.0
        for i in range(n):
            data[i, j] = (data[i, j] - mean) / (np.sqrt(n) * deviation)
    c = np.eye(m)
    for i in range(m - 1):
        for k in range(n):
            for j in range(i + 1, m):
                c[i, j] += data[k, i] * data[k, j]
        for j in range(i + 1, m):
            c[j, i] = c[i, j]
    return c


measure("correlation", correlation, lambda: (noise(140, 120),))
