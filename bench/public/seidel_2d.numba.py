from harness import measure, noise
from numba import njit


@njit
def seidel_2d(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (a[i, j] + above + a[i, j + 1] + below + a[i, j - 1]) / 9.0
    return a


measure("seidel_2d", seidel_2d, lambda: (4, noise(50, 50)))
