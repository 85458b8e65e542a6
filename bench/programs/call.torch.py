import os
import time

import torch

n = 2000 if os.environ.get("KILN_BENCH_QUICK") else 20000
compiled = globals().get("compiled", lambda f: f)


def guards(a, b, c, d, e):
    return a, b, c, d, e


def five(a, b, c, d, e):
    return a + b + c + d + e


def one(a, b, c, d, e):
    return a + b


def repeat(f, tensors, n):
    a, b, c, d, e = tensors
    for _ in range(n):
        y = f(a, b, c, d, e)
    return y


def timed(name, f):
    tensors = [torch.arange(8).to(torch.float32) + k for k in range(5)]
    repeat(f, tensors, n // 10)
    best = float("inf")
    for _ in range(7):
        started = time.perf_counter()
        y = repeat(f, tensors, n)
        best = min(best, (time.perf_counter() - started) / n)
    print(name, f"{best:.12f}", (y[1] if isinstance(y, tuple) else y).sum().item())


timed("plain", guards)
timed("guards", compiled(guards))
timed("five", compiled(five))
timed("one", compiled(one))
