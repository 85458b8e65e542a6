from harness import measure, noise
from numba import njit


@njit
def sweep(a, b):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                middle = 2.0 * a[i, j, k]
                first = 0.125 * (a[i + 1, j, k] - middle + a[i - 1, j, k])
                second = 0.125 * (a[i, j + 1, k] - middle + a[i, j - 1, k])
                third = 0.125 * (a[i, j, k + 1] - middle + a[i, j, k - 1])
                b[i, j, k] = first + second + third + a[i, j, k]


@njit
def heat_3d(steps, a, b):
    for _ in range(steps):
        sweep(a, b)
        sweep(b, a)
    return a


measure("heat_3d", heat_3d, lambda: (20, noise(25, 25, 25), noise(25, 25, 25)))
