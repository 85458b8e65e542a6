import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
m = x.view(4096, 1024)
zeros_like_m = torch.zeros(4096, 1024)
rows = (torch.arange(4096) * 37) % 4096
columns = (torch.arange(n).view(4096, 1024) * 31) % 1024
tokens = (torch.arange(16384) * 77) % 16384
table = x.view(16384, 256)
places = (torch.arange(n) * 7919) % n


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], first.to(torch.float64).mean().item())


timed("gather", lambda: m.gather(1, columns))
timed("scatter", lambda: zeros_like_m.scatter(1, columns, m))
timed("scatter_add", lambda: zeros_like_m.scatter_add(1, columns, m))
timed("index_select", lambda: m.index_select(0, rows))
timed("index_add", lambda: zeros_like_m.index_add(0, rows, m))
timed("embedding", lambda: torch.nn.functional.embedding(tokens, table))
timed("pick", lambda: x[places])
timed("mask", lambda: x[x > 0])
timed("masked_fill", lambda: m.masked_fill(m > 0, 1.0))
timed("nonzero", lambda: torch.nonzero(x > 0))
timed("pick_rows", lambda: m[rows])
timed("pick_pairs", lambda: m[rows, rows % 1024])
timed("pick_many_pairs", lambda: m[places % 4096, places // 4096])
timed("mask_2d", lambda: m[m > 0])
timed("mask_rows", lambda: m[rows % 2 == 0])
timed("put", lambda: x.index_put([places], x))
timed("put_add", lambda: x.index_put([places], x, True))
timed("put_rows", lambda: m.index_put([rows], m))
timed("put_mask", lambda: m.index_put([m > 0], torch.tensor(0.5)))
timed("nonzero_2d", lambda: torch.nonzero(m > 0))
timed("nonzero_few", lambda: torch.nonzero(m == 0))
timed("index_fill", lambda: m.index_fill(0, rows[:2048], 1.0))
timed("scatter_max", lambda: m.scatter_reduce(1, columns, m, "amax"))
