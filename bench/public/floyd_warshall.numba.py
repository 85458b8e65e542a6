import numpy as np
from harness import measure
from numba import njit


@njit
def floyd_warshall(way):
    n = way.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way[i, j] = min(way[i, j], way[i, k] + way[k, j])
    return way


def inputs():
    return (((np.arange(14400) * 7919 % 1009).astype(np.int32) % 7 + 1).reshape(120, 120),)


measure("floyd_warshall", floyd_warshall, inputs)
