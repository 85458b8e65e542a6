import numpy as np
from harness import measure, noise
from numba import njit


@njit
def tridiagonal(a, b, c, d):
    rows, columns, n = a.shape
    cp, dp, out = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    for i in range(rows):
        for j in range(columns):
            cp[i, j, 0] = c[i, j, 0] / b[i, j, 0]
            dp[i, j, 0] = d[i, j, 0] / b[i, j, 0]
            for k in range(1, n):
                norm = 1.0 / (b[i, j, k] - a[i, j, k] * cp[i, j, k - 1])
                cp[i, j, k] = c[i, j, k] * norm
                dp[i, j, k] = (d[i, j, k] - a[i, j, k] * dp[i, j, k - 1]) * norm
            out[i, j, n - 1] = dp[i, j, n - 1]
            for k in range(n - 2, -1, -1):
                out[i, j, k] = dp[i, j, k] - cp[i, j, k] * out[i, j, k + 1]
    return out


def inputs():
    return noise(40, 40, 30), noise(40, 40, 30) + 2.5, noise(40, 40, 30) * 0.9, noise(40, 40, 30) * 0.8


measure("tridiagonal", tridiagonal, inputs)
