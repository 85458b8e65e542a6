import torch
from harness_torch import measure, noise


@torch.compile
def sweep(a):
    return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def jacobi_2d(steps, a, b):
    for _ in range(steps):
        b[1:-1, 1:-1] = sweep(a)
        a[1:-1, 1:-1] = sweep(b)
    return a


measure("jacobi_2d", jacobi_2d, lambda: (50, noise(150, 150), noise(150, 150)))
