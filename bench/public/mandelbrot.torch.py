import torch
from harness_torch import measure


@torch.compile
def step(zr, zi, re, im, count, k):
    inside = zr * zr + zi * zi < 4.0
    count = torch.where(inside, k, count)
    return torch.where(inside, zr * zr - zi * zi + re, zr), torch.where(inside, 2.0 * zr * zi + im, zi), count


def mandelbrot(steps, nx, ny):
    re = torch.linspace(-2.25, 0.75, nx, dtype=torch.float64).expand(ny, nx)
    im = torch.linspace(-1.25, 1.25, ny, dtype=torch.float64).unsqueeze(1).expand(ny, nx)
    zr, zi, count = torch.zeros_like(re), torch.zeros_like(re), torch.zeros(ny, nx, dtype=torch.int64)
    for k in range(steps):
        zr, zi, count = step(zr, zi, re, im, count, torch.tensor(k))
    return count


measure("mandelbrot", mandelbrot, lambda: (40, 120, 100))
