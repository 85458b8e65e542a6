import time

import numpy as np

n = 1 << 22
x = ((np.arange(n) % 1000) / 250 - 2).astype(np.float32)
y = ((np.arange(n) * 7919) % 4194301).astype(np.float32)
m = y.reshape(4096, 1024)
k = np.arange(n) % 1000


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], np.mean(first, dtype=np.float64))


timed("sort", lambda: np.sort(y, kind='stable'))
timed("sort_rows", lambda: np.sort(m, axis=1, kind='stable'))
timed("sort_columns", lambda: np.sort(m, axis=0, kind='stable'))
timed("unique", lambda: np.unique(k))
timed("searchsorted", lambda: np.searchsorted(np.sort(m[0]), x))
timed("argsort_rows", lambda: np.argsort(m, axis=1, kind='stable')[:, 0])
timed("unique_floats", lambda: np.unique(y))
timed("unique_counts", lambda: np.unique(k, return_inverse=True, return_counts=True))
