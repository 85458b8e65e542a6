import torch
from harness_torch import measure, noise


@torch.compile
def step(a, b):
    b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
    a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def jacobi_1d(steps, a, b):
    for _ in range(steps):
        step(a, b)
    return a


measure("jacobi_1d", jacobi_1d, lambda: (400, noise(3200), noise(3200)))
