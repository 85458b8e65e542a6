from harness import measure, noise
import numpy as np


def trisolv(m, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - m[i, :i] @ x[:i]) / m[i, i]
    return x


measure("trisolv", trisolv, lambda: (noise(400, 400) + 400 * np.eye(400), noise(400)))
