import time

import numpy as np

n = 1 << 22
x = (np.arange(n).astype(np.float32) % 1000) / 250 - 2
y = (np.arange(n).astype(np.float32) % 777) / np.float32(333) + np.float32(0.1)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[7]:.12f}", r.astype(np.float64).mean().item())


timed("add", lambda: x + y)
timed("mul_number", lambda: x * np.float32(2.5))
timed("exp", lambda: np.exp(x))
timed("tanh", lambda: np.tanh(x))
timed("sin", lambda: np.sin(x))
timed("log", lambda: np.log(y))
timed("relu", lambda: np.maximum(x, 0))
timed("sum", lambda: np.sum(x))
timed("sum_rows", lambda: x.reshape(4096, 1024).sum(axis=1))
timed("sum_columns", lambda: x.reshape(4096, 1024).sum(axis=0))
timed("transpose", lambda: np.ascontiguousarray(x.reshape(2048, 2048).T))
