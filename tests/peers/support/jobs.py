"""Runs a program on several ranks, of Kiln or of Python, and compares what they leave in folders."""
import os
import subprocess
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
LIMIT = 300  # seconds, after which a job counts as stuck


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def run_kiln(n, program, *arguments):
    run([os.environ["KILN"], "run", "-n", n, PROGRAMS / program, *arguments])


def run_ranks(commands):
    """Runs one process for each command, all at a time."""
    running = [subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for command in commands]
    outputs = [each.communicate(timeout=LIMIT)[0] for each in running]
    if any(each.returncode != 0 for each in running):
        raise SystemExit("\n".join(f"rank {r} ended with {each.returncode}:\n{text}"
                                   for r, (each, text) in enumerate(zip(running, outputs))))


class Comparison:
    """Counts what was compared and keeps what differs."""

    def __init__(self):
        self.count = 0
        self.differences = []

    def check(self, name, got, wanted, tolerance):
        """`tolerance` is relative to the largest element; 0 asks for the same values."""
        self.count += 1
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            self.differences.append(f"{name}: Kiln has {got.dtype} {got.shape}, the other {wanted.dtype} {wanted.shape}")
            return
        if got.size == 0:
            return
        (a, b) = (got.astype(np.float64), wanted.astype(np.float64))
        off = np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)
        if not off <= tolerance:
            self.differences.append(f"{name}: off by {off:.3g} of the largest element, {tolerance:.3g} allowed")

    def finish(self):
        print(f"{self.count} results compared, {len(self.differences)} differ")
        for each in self.differences:
            print(f"  {each}")
        raise SystemExit(len(self.differences) > 0)
