import time

import numpy as np

n = 1 << 22
x = ((np.arange(n) % 1000) / 250 - 2).astype(np.float32)
m = x.reshape(4096, 1024)
rows = (np.arange(4096) * 37) % 4096
columns = (np.arange(n).reshape(4096, 1024) * 31) % 1024
tokens = (np.arange(16384) * 77) % 16384
table = x.reshape(16384, 256)
places = (np.arange(n) * 7919) % n


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], np.mean(first, dtype=np.float64))


timed("gather", lambda: np.take_along_axis(m, columns, 1))
timed("index_select", lambda: np.take(m, rows, 0))
timed("embedding", lambda: table[tokens])
timed("pick", lambda: x[places])
timed("mask", lambda: x[x > 0])
timed("nonzero", lambda: np.argwhere(x > 0))
timed("pick_rows", lambda: m[rows])
timed("pick_pairs", lambda: m[rows, rows % 1024])
timed("pick_many_pairs", lambda: m[places % 4096, places // 4096])
timed("mask_2d", lambda: m[m > 0])
timed("mask_rows", lambda: m[rows % 2 == 0])
timed("nonzero_2d", lambda: np.argwhere(m > 0))
timed("nonzero_few", lambda: np.argwhere(m == 0))
