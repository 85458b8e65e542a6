#!/usr/bin/env python3
"""Compares the functions that a library shows, and the libraries that it needs, with the lists in a file:
check_abi.py LIBRARY LIST [--update]."""
import re
import subprocess
import sys

library, path = sys.argv[1], sys.argv[2]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# The node of the version script is shown as a symbol, too.
shown = sorted(
    line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines() if " A " not in line
)
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))
if "--update" in sys.argv:
    with open(path, "w") as file:
        file.write("\n".join(shown) + "\n")
with open(path) as file:
    expected = file.read().split()

failures = [f"{name} is new: is it to be kept for good?" for name in shown if name not in expected]
failures += [f"{name} is gone: programs that use it no longer start" for name in expected if name not in shown]
failures += [f"{name} is needed: its licence would be that of all programs" for name in needed if "readline" in name]
print("\n".join(failures) or f"{len(shown)} functions")
sys.exit(1 if failures else 0)
