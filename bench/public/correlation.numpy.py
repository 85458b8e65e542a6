from harness import measure, noise
import numpy as np


def correlation(data):
    n, m = data.shape
    deviation = data.std(0)
    deviation[deviation <= 0.1] = 1.0
    data -= data.mean(0)
    data /= np.sqrt(n) * deviation
    c = np.eye(m)
    for i in range(m - 1):
        c[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        c[i + 1 :, i] = c[i, i + 1 :]
    return c


measure("correlation", correlation, lambda: (noise(140, 120),))
