"""What programs of ranks share: the sums that are measured."""
import time

import torch

from common import RUNS

SIZES = [("4_B", 1), ("1_MiB", 262144), ("16_MiB", 4194304)]


def measure(rank, total):
    """Prints, on rank 0, the median time of `total(x, name)`, which gives the sum of all ranks' x."""
    for name, elements in SIZES:
        x = torch.full([elements], rank + 1.0)
        times = []
        for _ in range(RUNS + 10):
            started = time.perf_counter()
            y = total(x, name)
            times.append(time.perf_counter() - started)
        if rank == 0:
            print(name, f"{sorted(times[10:])[RUNS // 2]:.9f}", f"{y[-1].item():.6f}", flush=True)
