from harness import measure, noise
import numpy as np


def spmv(starts, columns, values, x):
    y = np.empty(len(starts) - 1)
    for i in range(len(y)):
        within = columns[starts[i] : starts[i + 1]]
        y[i] = values[starts[i] : starts[i + 1]] @ x[within]
    return y


starts = np.concatenate([[0], (np.arange(800) * 37 % 39 + 1).cumsum()])
n = starts[-1]
measure("spmv", spmv, lambda: (starts, np.arange(n) * 7919 % 800, noise(n), noise(800)))
