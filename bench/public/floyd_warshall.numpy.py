from harness import measure
import numpy as np


def floyd_warshall(way):
    for k in range(way.shape[0]):
        way[:] = np.minimum(way, way[:, k, None] + way[k])
    return way


def inputs():
    return (((np.arange(14400) * 7919 % 1009).astype(np.int32) % 7 + 1).reshape(120, 120),)


measure("floyd_warshall", floyd_warshall, inputs)
