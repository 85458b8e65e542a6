from harness import measure, noise
import numpy as np


def tridiagonal(a, b, c, d):
    n = a.shape[-1]
    cp, dp, out = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    cp[..., 0] = c[..., 0] / b[..., 0]
    dp[..., 0] = d[..., 0] / b[..., 0]
    for i in range(1, n):
        norm = 1.0 / (b[..., i] - a[..., i] * cp[..., i - 1])
        cp[..., i] = c[..., i] * norm
        dp[..., i] = (d[..., i] - a[..., i] * dp[..., i - 1]) * norm
    out[..., n - 1] = dp[..., n - 1]
    for i in range(n - 2, -1, -1):
        out[..., i] = dp[..., i] - cp[..., i] * out[..., i + 1]
    return out


def inputs():
    return noise(40, 40, 30), noise(40, 40, 30) + 2.5, noise(40, 40, 30) * 0.9, noise(40, 40, 30) * 0.8


measure("tridiagonal", tridiagonal, inputs)
