import numpy as np

from common import filled_by, timed

filled = filled_by(np.arange, lambda x: x.astype(np.float32))


def heat(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


u = filled(2048, 2048)
timed("heat", lambda: heat(u), lambda: np.abs(u).mean())


def iterated(zr, zi, count, cr, ci):
    for _ in range(6):
        r2, i2 = zr * zr, zi * zi
        inside = r2 + i2 <= 4.0
        zi = np.where(inside, 2.0 * zr * zi + ci, zi)
        zr = np.where(inside, r2 - i2 + cr, zr)
        count = count + inside
    return zr, zi, count


def mandelbrot(cr, ci):
    zr = np.zeros((1024, 1024), np.float32)
    zi = np.zeros((1024, 1024), np.float32)
    count = np.zeros((1024, 1024), np.float32)
    for _ in range(5):
        zr, zi, count = iterated(zr, zi, count, cr, ci)
    return count


cr = (np.arange(1024).astype(np.float32) / 1024 * 2.5 - 2.0).astype(np.float32).reshape(1, 1024)
ci = (np.arange(1024).astype(np.float32) / 1024 * 2.5 - 1.25).astype(np.float32).reshape(1024, 1)
timed("mandelbrot", lambda: mandelbrot(cr, ci), lambda: mandelbrot(cr, ci).mean())

x = filled(4096, 1024)


def pointwise(x):
    return np.tanh(x) * np.exp(-x * x) + x


timed("tanh_exp", lambda: pointwise(x), lambda: pointwise(x).mean())
