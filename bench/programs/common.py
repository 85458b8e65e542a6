"""What programs of several peers share: how they time, and the numbers they begin with."""
import os
import time

RUNS = 5 if os.environ.get("KILN_BENCH_QUICK") else 25


def timed(name, f, check, wait=lambda result: result):
    """Prints the median time of f, in seconds, and a number that tells what it computed."""
    for _ in range(3):
        wait(f())
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        wait(f())
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[RUNS // 2]:.9f}", f"{float(check()):.6f}", flush=True)


def filled_by(arange, as_floats):
    """A function of sizes that gives an array of the same f32 numbers in [-0.5, 0.5) with every library."""
    def filled(*shape):
        n = 1
        for s in shape:
            n *= s
        return (as_floats(arange(n) % 1009 * 7919 % 1009) / 1009 - 0.5).reshape(shape)
    return filled
