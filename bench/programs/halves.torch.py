import math
import time

import torch
from torch.nn.functional import conv2d, linear


def fastest(f):
    f()
    times = []
    while len(times) < 3 or (len(times) < 30 and sum(times) < 0.3):
        started = time.perf_counter()
        f()
        times.append(time.perf_counter() - started)
    return sorted(times)[0]


def report(name, f):
    print(name, f"{fastest(f):.12f}", f().to(torch.float32).abs().mean().item())


def filled(dtype, modulus, *shape):
    return (torch.arange(math.prod(shape)) % modulus - modulus // 2).to(dtype).reshape(shape)


for name, dtype, sizes in [("bf16", torch.bfloat16, [64, 128, 256, 512, 1024, 2048]), ("f16", torch.float16, [64, 256, 512])]:
    for n in sizes:
        a, b = filled(dtype, 7, n, n), filled(dtype, 5, n, n)
        report(f"matmul_{name}_{n}", lambda: a @ b)
    x, w = filled(dtype, 7, 128, 784), filled(dtype, 5, 512, 784)
    report(f"linear_{name}", lambda: linear(x, w))
    q, k = filled(dtype, 7, 64, 256, 64), filled(dtype, 5, 64, 256, 64)
    report(f"scores_{name}", lambda: q @ k.transpose(1, 2))
    v, r, s = filled(dtype, 7, 1, 2048), filled(dtype, 5, 2048, 2048), filled(dtype, 7, 8, 2048)
    report(f"vector_{name}", lambda: v @ r)
    report(f"vector_transposed_{name}", lambda: v @ r.t())
    report(f"eight_rows_{name}", lambda: s @ r.t())
    i, m = filled(dtype, 7, 8, 64, 56, 56), filled(dtype, 5, 64, 64, 3, 3)
    report(f"conv_56_{name}", lambda: conv2d(i, m, padding=1))
    j, o = filled(dtype, 7, 16, 32, 28, 28), filled(dtype, 5, 32, 32, 3, 3)
    report(f"conv_28_{name}", lambda: conv2d(j, o, padding=1))
