import numpy as np
from harness import measure, noise
from numba import njit


@njit
def fdtd_2d(ex, ey, hz, source):
    for value in source:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


source = np.arange(40.0)
measure("fdtd_2d", fdtd_2d, lambda: (noise(120, 150), noise(120, 150) * 0.9, noise(120, 150) * 0.8, source))
