# Factorizations: one matrix of 64 to 512, and a thousand of 4 by 4.
import math
import time

import torch

inv, solve, cholesky = torch.linalg.inv, torch.linalg.solve, torch.linalg.cholesky
qr, svd, eigh = torch.linalg.qr, torch.linalg.svd, torch.linalg.eigh


def sample(*shape):
    count = math.prod(shape)
    at = torch.arange(count)
    return ((at**2 * 7 + at * 3) % 251).to(torch.float32).reshape(shape) / 251 - 0.5 + torch.eye(shape[-1])


def measure(name, f, check):
    f()
    started = time.perf_counter()
    f()
    count = max(3, min(1000, int(0.03 / (time.perf_counter() - started))))
    times = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - started) / count)
    print(name, f"{sorted(times)[3]:.12f}", check(f()))


def spread(x):
    return x.abs().mean().item()


for shape in [(64, 64), (128, 128), (256, 256), (512, 512), (1000, 4, 4)]:
    a = sample(*shape)
    s = a @ a.mT + torch.eye(shape[-1]) * shape[-1]
    b = sample(*shape) + 1
    place = "x".join(str(size) for size in shape)
    measure(f"inv-{place}", lambda: inv(s), spread)
    measure(f"solve-{place}", lambda: solve(s, b), spread)
    measure(f"cholesky-{place}", lambda: cholesky(s), spread)
    measure(f"qr-{place}", lambda: qr(s), lambda x: spread(x[1]))
    measure(f"svd-{place}", lambda: svd(s), lambda x: spread(x[1]))
    measure(f"eigh-{place}", lambda: eigh(s), lambda x: spread(x[0]))

m = sample(64, 64)
v = sample(8, 64, 64)
measure("einsum-chain", lambda: torch.einsum("ij,jk,kl,l->i", m, m, m, m[0]), spread)
measure("einsum-bilinear", lambda: torch.einsum("bn,anm,bm->ba", m, v, m), spread)
measure("einsum-attention", lambda: torch.einsum("bqd,bkd->bqk", v, v), spread)
measure("einsum-diagonal", lambda: torch.einsum("bii->b", v), spread)
