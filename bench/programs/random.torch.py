import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
weights = torch.arange(1024).to(torch.float32) % 37 + 1


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
timed("randperm_large", lambda: torch.randperm(n))
timed("multinomial", lambda: torch.multinomial(weights, 1 << 16, replacement=True))
timed("multinomial_rows", lambda: torch.multinomial(weights.view(1, -1).expand(512, -1), 8))
timed("uniform", lambda: x.clone().uniform_(-1, 1))
