from harness import measure, noise
from numba import njit


@njit
def jacobi_1d(steps, a, b):
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a


measure("jacobi_1d", jacobi_1d, lambda: (400, noise(3200), noise(3200)))
