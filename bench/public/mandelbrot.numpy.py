from harness import measure
import numpy as np


def mandelbrot(steps, nx, ny):
    re, im = np.meshgrid(np.linspace(-2.25, 0.75, nx), np.linspace(-1.25, 1.25, ny))
    zr, zi = np.zeros_like(re), np.zeros_like(re)
    count = np.zeros((ny, nx), np.int64)
    for k in range(steps):
        inside = zr * zr + zi * zi < 4.0
        count[inside] = k
        zr, zi = np.where(inside, zr * zr - zi * zi + re, zr), np.where(inside, 2.0 * zr * zi + im, zi)
    return count


measure("mandelbrot", mandelbrot, lambda: (40, 120, 100))
