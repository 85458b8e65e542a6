from harness import measure, noise
import numpy as np


def covariance(data):
    n, m = data.shape
    data -= data.mean(0)
    c = np.zeros((m, m))
    for i in range(m):
        c[i:, i] = data[:, i] @ data[:, i:] / (n - 1.0)
        c[i, i:] = c[i:, i]
    return c


measure("covariance", covariance, lambda: (noise(140, 120),))
