import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
y = ((torch.arange(n) * 7919) % 4194301).to(torch.float32)
m = y.view(4096, 1024)
k = torch.arange(n) % 1000


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], first.to(torch.float64).mean().item())


timed("sort", lambda: torch.sort(y))
timed("sort_rows", lambda: torch.sort(m, dim=1))
timed("sort_columns", lambda: torch.sort(m, dim=0))
timed("topk_rows", lambda: torch.topk(m, 10, dim=1))
timed("unique", lambda: torch.unique(k))
timed("searchsorted", lambda: torch.searchsorted(m[0].sort()[0], x))
timed("argsort_rows", lambda: torch.argsort(m, dim=1)[:, 0])
timed("unique_floats", lambda: torch.unique(y))
timed("unique_counts", lambda: torch.unique(k, return_inverse=True, return_counts=True))
