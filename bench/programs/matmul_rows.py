"""The rows of `matmul` that programs of several peers share."""
import time

SQUARES = [64, 128, 256, 300, 512, 1000, 1024, 2048]
TRANSPOSED_TOO = [128, 512, 1024]
OTHERS = [
    ("layer", 64, 784, 128),
    ("tall", 5000, 300, 20),
    ("few_rows", 32, 4096, 1024),
    ("eight_rows", 8, 2048, 2048),
    ("short_sums", 1000, 8, 1000),
    ("sums_of_16", 1000, 16, 1000),
    ("sums_of_32", 1000, 32, 1000),
    ("deep", 64, 20000, 64),
]
VECTORS = [
    ("vector_1024", 1024, 1024),
    ("vector_4096", 4096, 4096),
    ("vector_narrow", 20000, 40),
    ("vector_wide", 512, 20000),
]
BATCHES = [
    ("vectors", 64, 1, 256, 256),
    ("batch_16", 1000, 16, 16, 16),
    ("batch_28", 300, 28, 28, 28),
    ("batch_40", 200, 40, 40, 40),
    ("batch_100", 50, 100, 100, 100),
    ("heads", 32, 256, 64, 256),
]


def timed(name, f, work):
    count = max(3, min(20000, int(2e9 / work)))
    c = f()
    times = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(count):
            c = f()
        times.append((time.perf_counter() - started) / count)
    print(name, f"{sorted(times)[3]:.12f}", abs(c).mean().item())


def measure(dtype, suffix, arange):
    """All rows of a dtype; arange(n, dtype): the first n integers."""
    def matrix(rows, columns, most):
        return (arange(rows * columns, dtype) % most - most // 2).reshape(rows, columns)

    for n in SQUARES:
        a, b = matrix(n, n, 7), matrix(n, n, 5)
        timed(f"{n}{suffix}", lambda: a @ b, n**3)
        if n in TRANSPOSED_TOO:
            timed(f"{n}_by_transposed{suffix}", lambda: a @ b.T, n**3)
            timed(f"{n}_transposed_by{suffix}", lambda: a.T @ b, n**3)
            timed(f"{n}_both_transposed{suffix}", lambda: a.T @ b.T, n**3)
    for name, m, k, n in OTHERS:
        a, b, c = matrix(m, k, 7), matrix(k, n, 5), matrix(m, n, 3)
        timed(f"{name}{suffix}", lambda: a @ b, m * k * n)
        timed(f"{name}_left_gradient{suffix}", lambda: c @ b.T, m * k * n)
        timed(f"{name}_right_gradient{suffix}", lambda: a.T @ c, m * k * n)
    for name, k, n in VECTORS:
        a, b, c = matrix(1, k, 7)[0], matrix(k, n, 5), matrix(1, n, 3)[0]
        timed(f"{name}{suffix}", lambda: a @ b, 100 * k * n)
        timed(f"{name}_by_rows{suffix}", lambda: b @ c, 100 * k * n)
    for name, count, m, k, n in BATCHES:
        a = matrix(count * m, k, 7).reshape(count, m, k)
        b = matrix(count * k, n, 5).reshape(count, k, n)
        timed(f"{name}{suffix}", lambda: a @ b, count * m * k * n)
