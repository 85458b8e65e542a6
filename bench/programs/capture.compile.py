import time

import torch
import torch._dynamo


def ops(x, w):
    for _ in range(25):
        x = (x * w + 1).tanh() - w
    return x


def half(x, w):
    for _ in range(13):
        x = (x * w + 1).tanh() - w
    return x


def timed(name, f):
    x = torch.arange(8).to(torch.float32)
    best = float("inf")
    for _ in range(10):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend="eager")
        started = time.perf_counter()
        compiled(x, x)
        best = min(best, time.perf_counter() - started)
    print(name, f"{best:.12f}", 100 if f is ops else 52)


timed("ops_100", ops)
timed("ops_52", half)
