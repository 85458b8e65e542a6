#!/usr/bin/env python3
"""One to four ranks train to the same parameters, also where one of three was killed on the way.

   same_bits.py KILN
"""
import os
import re
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "fashion_grains.kiln")


def parameters(kiln, job, *arguments):
    """The hashes that the ranks of a job print, and how many ranks there were in the end."""
    command = [kiln, "run", *job, PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} left with {done.returncode}:\n{done.stdout}{done.stderr}")
    found = re.findall(r"parameters (-?\d+) on (\d+) ranks", done.stdout)
    return {bits for bits, _ in found}, {int(ranks) for _, ranks in found}


def main():
    kiln = sys.argv[1]
    expected, _ = parameters(kiln, ["-n", "1"])
    jobs = [(["-n", str(n)], [], n) for n in (2, 3, 4)] + [(["--elastic", "2:3"], ["20"], 2)]
    for job, arguments, ranks in jobs:
        found = parameters(kiln, job, *arguments)
        if found != (expected, {ranks}):
            sys.exit(f"`kiln run {' '.join(job)}` came to {found}, one rank to {expected}")
        print(f"kiln run {' '.join(job)}: the parameters of one rank")


main()
