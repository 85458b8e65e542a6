import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    print(name, sorted(times)[7])


timed("rand", lambda: torch.rand(n))
timed("randn", lambda: torch.randn(n))
timed("randint", lambda: torch.randint(0, 100, [n]))
timed("randperm", lambda: torch.randperm(1 << 20))
timed("bernoulli", lambda: torch.bernoulli(x, 0.3))
timed("dropout", lambda: torch.nn.functional.dropout(x, 0.5))
