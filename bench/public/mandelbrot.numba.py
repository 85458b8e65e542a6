import numpy as np
from harness import measure
from numba import njit


@njit
def mandelbrot(steps, nx, ny):
    re, im = np.linspace(-2.25, 0.75, nx), np.linspace(-1.25, 1.25, ny)
    count = np.zeros((ny, nx), np.int64)
    for i in range(ny):
        for j in range(nx):
            zr = zi = 0.0
            for k in range(steps):
                if zr * zr + zi * zi >= 4.0:
                    break
                count[i, j] = k
                zr, zi = zr * zr - zi * zi + re[j], 2.0 * zr * zi + im[i]
    return count


measure("mandelbrot", mandelbrot, lambda: (40, 120, 100))
