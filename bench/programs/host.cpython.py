import os
import time

scale = 10 if os.environ.get("KILN_BENCH_QUICK") else 1


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def float_loop(n):
    s = 0.0
    i = 0
    while i < n:
        s += i * 0.5
        i += 1
    return s


def lists(n):
    xs = []
    for i in range(n):
        xs.append(i * 7 % 1000)
    xs.sort()
    total = 0
    for x in xs:
        total += x
    return total


def dicts(n):
    counts = {}
    for i in range(n):
        k = i * 7919 % 5003
        counts[k] = counts.get(k, 0) + 1
    total = 0
    for k in counts:
        total += counts[k] * k
    return total


def strings(n):
    parts = []
    for i in range(n):
        parts.append(str(i))
    return len(",".join(parts))


def timed(name, f, n):
    started = time.perf_counter()
    value = f(n)
    print(name, f"{time.perf_counter() - started:.9f}", value)


timed("fib", fib, 27 if scale == 10 else 32)
timed("float_loop", float_loop, 50000000 // scale)
timed("lists", lists, 2000000 // scale)
timed("dicts", dicts, 2000000 // scale)
timed("strings", strings, 2000000 // scale)
