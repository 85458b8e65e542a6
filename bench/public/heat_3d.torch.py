import torch
from harness_torch import measure, noise


@torch.compile
def sweep(a):
    middle = 2.0 * a[1:-1, 1:-1, 1:-1]
    first = 0.125 * (a[2:, 1:-1, 1:-1] - middle + a[:-2, 1:-1, 1:-1])
    second = 0.125 * (a[1:-1, 2:, 1:-1] - middle + a[1:-1, :-2, 1:-1])
    third = 0.125 * (a[1:-1, 1:-1, 2:] - middle + a[1:-1, 1:-1, :-2])
    return first + second + third + a[1:-1, 1:-1, 1:-1]


def heat_3d(steps, a, b):
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = sweep(a)
        a[1:-1, 1:-1, 1:-1] = sweep(b)
    return a


measure("heat_3d", heat_3d, lambda: (20, noise(25, 25, 25), noise(25, 25, 25)))
