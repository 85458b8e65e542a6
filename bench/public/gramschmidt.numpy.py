from harness import measure, noise
import numpy as np


def gramschmidt(a):
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt((a[:, k] * a[:, k]).sum())
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return r


measure("gramschmidt", gramschmidt, lambda: (noise(80, 60) + np.eye(80, 60),))
