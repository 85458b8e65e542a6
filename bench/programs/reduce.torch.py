import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
m = x.view(4096, 1024)
c = x.view(64, 64, 1024)
w = x[:1024]


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], first.to(torch.float64).mean().item())


timed("sum", lambda: torch.sum(x))
timed("sum_rows", lambda: m.sum(dim=1))
timed("sum_columns", lambda: m.sum(dim=0))
timed("sum_middle", lambda: c.sum(dim=1))
timed("mean_rows", lambda: m.mean(dim=1))
timed("max", lambda: torch.max(x))
timed("max_columns", lambda: m.max(dim=0))
timed("argmax_rows", lambda: m.argmax(dim=1))
timed("argmax_columns", lambda: m.argmax(dim=0))
timed("var_rows", lambda: m.var(dim=1))
timed("var_columns", lambda: m.var(dim=0))
timed("softmax_rows", lambda: m.softmax(dim=1))
timed("softmax_columns", lambda: m.softmax(dim=0))
timed("layer_norm", lambda: torch.nn.functional.layer_norm(m, [1024], w, w))
timed("logsumexp_rows", lambda: m.logsumexp(dim=1))
timed("cumsum_rows", lambda: m.cumsum(dim=1))
timed("cumsum_columns", lambda: m.cumsum(dim=0))
timed("norm", lambda: torch.norm(x))
timed("any", lambda: torch.any(x > 5))
timed("cumsum_all", lambda: x.cumsum(dim=0))
timed("prod_rows", lambda: (m * 0.001 + 1).prod(dim=1))
timed("count_nonzero", lambda: torch.count_nonzero(x))
timed("copy", lambda: x.clone())
