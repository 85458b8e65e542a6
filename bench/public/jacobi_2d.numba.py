from harness import measure, noise
from numba import njit


@njit
def sweep(a, b):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])


@njit
def jacobi_2d(steps, a, b):
    for _ in range(steps):
        sweep(a, b)
        sweep(b, a)
    return a


measure("jacobi_2d", jacobi_2d, lambda: (50, noise(150, 150), noise(150, 150)))
