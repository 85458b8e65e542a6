import time

import numpy as np


def repeat_of(n):
    return max(3, min(20000, int(2e9 / n**3)))


for n in [64, 128, 256, 512, 1024, 2048]:
    a = np.arange(n * n).astype(np.float32).reshape(n, n) % 7 - 3
    b = np.arange(n * n).astype(np.float32).reshape(n, n) % 5 - 2
    c = a @ b
    times = []
    for _ in range(7):
        count = repeat_of(n)
        started = time.perf_counter()
        for _ in range(count):
            c = a @ b
        times.append((time.perf_counter() - started) / count)
    print(n, f"{sorted(times)[3]:.12f}", abs(c).mean().item())
