import numpy as np
from harness_jax import measure, noise
from jax import jit


@jit
def spmv(rows, columns, values, y, x):
    return y.at[rows].add(values * x[columns], indices_are_sorted=True)


counts = np.arange(800) * 37 % 39 + 1
n = counts.sum()
rows = np.repeat(np.arange(800), counts)
measure("spmv", spmv, lambda: (rows, np.arange(n) * 7919 % 800, noise(n), np.zeros(800), noise(800)))
