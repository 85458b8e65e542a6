#!/usr/bin/env python3
"""What a kernel takes: time until it is ready, beside Kiln's own start, and memory over a thousand cells."""
# Environment: jupyter

import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.kernels import KILN, Place, Served, kernel_program  # noqa: E402

CELLS = 1000
WARM = 10  # cells before memory is looked at
MOST_MIB = 10


def resident_mib(process):
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel has ended")


def seconds_to_start():
    begin = time.perf_counter()
    subprocess.run([KILN, "--no-init"], input="", text=True, check=True, capture_output=True)
    return time.perf_counter() - begin


def check_start(place):
    started = statistics.median(seconds_to_start() for _ in range(5))
    ready = []
    for _ in range(5):
        with Served(place) as kernel:
            ready.append(kernel.seconds_to_ready)
    most = 2 * started + 0.3
    print(f"Kiln starts in {started * 1e3:.0f} ms, a kernel is ready after {statistics.median(ready) * 1e3:.0f} ms")
    assert statistics.median(ready) < most, (ready, most)


def check_memory(place):
    with Served(place) as kernel:
        for number in range(CELLS):
            if number == WARM:
                before = resident_mib(kernel.process_id())
            kernel.run(f"x = randn(20, 20)\ny_{number % 7} = (x * {number}).tanh()\nprint(\"cell {number}\")\ny_{number % 7}")
        grown = resident_mib(kernel.process_id()) - before
    print(f"{CELLS - WARM} cells after the first {WARM}: {grown:.1f} MiB more than {before:.0f} MiB")
    assert grown < MOST_MIB


def main():
    with Place(kernel_program()) as place:
        check_start(place)
        check_memory(place)


if __name__ == "__main__":
    main()
