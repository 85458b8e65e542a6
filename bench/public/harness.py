"""What the NumPy forms share: the data of harness.kiln, and the same way to time a kernel."""
import os
import time

import numpy as np


def noise(*shape):
    return ((np.arange(np.prod(shape)) * 7919 % 1009) / 1009 + 0.01).reshape(shape)


def fastest(kernel, inputs, seconds):
    spent, best, calls, result = 0.0, float("inf"), 0, None
    while calls < 4 or spent < seconds:
        given = inputs()
        began = time.process_time()
        result = kernel(*given)
        passed = time.process_time() - began
        spent += passed
        calls += 1
        if calls > 2 and spent > seconds / 2:
            best = min(best, passed)
    return best, result


def measure(name, kernel, inputs):
    best, result = fastest(kernel, inputs, 0.3 if os.environ.get("KILN_BENCH_QUICK") else 2.0)
    print(name, f"{best:.9f}", f"{float(np.sum(result)):.9g}")
