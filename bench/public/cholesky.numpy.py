from harness import measure, noise
import numpy as np


def cholesky(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)


def definite(n):
    a = noise(n, n)
    return a @ a.T + n * np.eye(n)


measure("cholesky", cholesky, lambda: (definite(70),))
