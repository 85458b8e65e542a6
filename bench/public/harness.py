"""What the forms of peers share: the data of harness.kiln, and the same way to time a kernel."""
import os
import time

import numpy as np


def noise(*shape):
    return ((np.arange(np.prod(shape)) * 7919 % 1009) / 1009 + 0.01).reshape(shape)


def fastest(kernel, inputs, seconds):
    """The time of the first call, the least one of the second half of the given seconds behind it, and the result."""
    first = spent = 0.0
    best, calls, result = float("inf"), 0, None
    while calls < 4 or spent < seconds:
        given = inputs()
        began = time.process_time()
        result = kernel(*given)
        passed = time.process_time() - began
        calls += 1
        if calls == 1:
            first = passed
            continue
        spent += passed
        if calls > 2 and spent > seconds / 2:
            best = min(best, passed)
    return first, best, result


def measure(name, kernel, inputs):
    # Half of what Kiln has: all peers compile at the first call, and become no faster after that.
    first, best, result = fastest(kernel, inputs, 0.3 if os.environ.get("KILN_BENCH_QUICK") else 1.0)
    print(name, f"{best:.9f}", f"{float(np.sum(result)):.9g}")
    print(f"{name}:first", f"{first:.9f}")
