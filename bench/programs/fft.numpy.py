import time

import numpy as np


def numbers(n, dtype):
    return ((np.arange(n)**2 * 7919 % 100003) / 100003 - 0.5).astype(dtype)


def timed(name, n, f, check):
    calls = max(1, 2**17 // n)
    f()
    times = []
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(calls):
            f()
        times.append((time.perf_counter() - started) / calls)
    print(name, sorted(times)[4], check(f()))


for name, dtype, pairs in (("f32", np.float32, np.complex64), ("f64", np.float64, np.complex128)):
    for power in range(10, 21, 2):
        n = 2**power
        x = numbers(2 * n, dtype).view(pairs)
        timed(f"complex_{name}_2^{power}", n, lambda: np.fft.fft(x), lambda y: y[7].real)
        r = numbers(n, dtype)
        timed(f"real_{name}_2^{power}", n, lambda: np.fft.rfft(r), lambda y: y[7].real)
x = numbers(2000000, np.float32).view(np.complex64).reshape(1000, 1000)
timed("lines_f32_1000", 1000000, lambda: np.fft.fft(x), lambda y: y[3, 7].real)
x = numbers(2 * 100003, np.float32).view(np.complex64)
timed("prime_f32_100003", 100003, lambda: np.fft.fft(x), lambda y: y[7].real)
