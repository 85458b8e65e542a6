import time

import numpy as np

n = 1 << 22
x = ((np.arange(n) % 1000) / 250 - 2).astype(np.float32)
generator = np.random.default_rng(0)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    print(name, sorted(times)[7])


timed("rand", lambda: generator.random(n, dtype=np.float32))
timed("randn", lambda: generator.standard_normal(n, dtype=np.float32))
timed("randint", lambda: generator.integers(0, 100, n))
timed("randperm", lambda: generator.permutation(1 << 20))
timed("randperm_large", lambda: generator.permutation(n))
