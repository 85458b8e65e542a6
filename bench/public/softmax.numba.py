import numpy as np
from harness import measure, noise
from numba import njit


@njit
def softmax(x):
    out = np.empty_like(x)
    a, b, c, d = x.shape
    for i in range(a):
        for j in range(b):
            for k in range(c):
                largest = x[i, j, k].max()
                total = np.float32(0)
                for l in range(d):
                    out[i, j, k, l] = np.exp(x[i, j, k, l] - largest)
                    total += out[i, j, k, l]
                for l in range(d):
                    out[i, j, k, l] /= total
    return out


measure("softmax", softmax, lambda: (noise(8, 8, 64, 64).astype(np.float32),))
