import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
y = (torch.arange(n).to(torch.float32) % 777) / 333 + 0.1


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[7]:.12f}", r.to(torch.float64).mean().item())


timed("add", lambda: x + y)
timed("mul_number", lambda: x * 2.5)
timed("exp", lambda: torch.exp(x))
timed("tanh", lambda: torch.tanh(x))
timed("sin", lambda: torch.sin(x))
timed("log", lambda: torch.log(y))
timed("relu", lambda: torch.relu(x))
timed("sum", lambda: torch.sum(x))
timed("sum_rows", lambda: x.view(4096, 1024).sum(dim=1))
timed("sum_columns", lambda: x.view(4096, 1024).sum(dim=0))
timed("softmax", lambda: x.view(4096, 1024).softmax(dim=1))
timed("transpose", lambda: x.view(2048, 2048).t().contiguous())
