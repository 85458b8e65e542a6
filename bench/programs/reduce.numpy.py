import time

import numpy as np

n = 1 << 22
x = ((np.arange(n) % 1000) / 250 - 2).astype(np.float32)
m = x.reshape(4096, 1024)
c = x.reshape(64, 64, 1024)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], np.mean(first, dtype=np.float64))


timed("sum", lambda: np.sum(x))
timed("sum_rows", lambda: m.sum(axis=1))
timed("sum_columns", lambda: m.sum(axis=0))
timed("sum_middle", lambda: c.sum(axis=1))
timed("mean_rows", lambda: m.mean(axis=1))
timed("max", lambda: np.max(x))
timed("argmax_rows", lambda: m.argmax(axis=1))
timed("argmax_columns", lambda: m.argmax(axis=0))
timed("var_rows", lambda: m.var(axis=1, ddof=1))
timed("var_columns", lambda: m.var(axis=0, ddof=1))
timed("cumsum_rows", lambda: m.cumsum(axis=1))
timed("cumsum_columns", lambda: m.cumsum(axis=0))
timed("norm", lambda: np.linalg.norm(x))
timed("any", lambda: np.any(x > 5))
timed("cumsum_all", lambda: x.cumsum())
timed("prod_rows", lambda: (m * np.float32(0.001) + 1).prod(axis=1))
timed("count_nonzero", lambda: np.array(np.count_nonzero(x)))
timed("copy", lambda: x.copy())
