import numpy as np
from harness import measure, noise
from numba import njit


@njit
def spmv(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


starts = np.concatenate([[0], (np.arange(800) * 37 % 39 + 1).cumsum()])
n = starts[-1]
measure("spmv", spmv, lambda: (starts, np.arange(n) * 7919 % 800, noise(n), noise(800)))
