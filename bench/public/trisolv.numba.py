import numpy as np
from harness import measure, noise
from numba import njit


@njit
def trisolv(m, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        rest = b[i]
        for j in range(i):
            rest -= m[i, j] * x[j]
        x[i] = rest / m[i, i]
    return x


measure("trisolv", trisolv, lambda: (noise(400, 400) + 400 * np.eye(400), noise(400)))
