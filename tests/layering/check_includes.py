#!/usr/bin/env python3
"""Checks that no room includes a header of a room it must not know, and that every file stays of one idea."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAY_INCLUDE = {
    "lang": {"lang"},
    "tensor": {"tensor"},
    "jit": {"jit", "tensor"},
    "interpreter": {"interpreter", "jit", "tensor", "lang"},
    "repl": {"repl", "interpreter", "jit", "tensor", "lang"},
}
# Headers that stay in few files, so that a change elsewhere never compiles them again.
KEPT_IN = {
    "antlr4-runtime": ("lang/",),
    "readline": ("repl/",),
    "dnnl": ("tensor/cpu/",),
    "llvm": ("jit/llvm/",),
    "nlohmann": ("interpreter/", "lang/"),
    "jit/passes/passes.h": ("jit/passes/", "jit/recipes.cpp"),  # others name a recipe
}
LONGEST_FILE = 800

failures = []
files = subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.def"], cwd=ROOT, capture_output=True, text=True, check=True)
for name in files.stdout.split():
    path = ROOT / name
    if not path.exists():
        continue
    room = name.split("/")[0]
    lines = path.read_text().splitlines()
    if len(lines) > LONGEST_FILE:
        failures.append(f"{name}: {len(lines)} lines; the limit is {LONGEST_FILE}")
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not found:
            continue
        target = found[1].split("/")[0]
        if room in MAY_INCLUDE and target in MAY_INCLUDE and target not in MAY_INCLUDE[room]:
            failures.append(f"{name}:{number}: {room} must not include {found[1]}")
        for prefix, places in KEPT_IN.items():
            if found[1].lower().startswith(prefix) and room != "tests" and not name.startswith(places):
                failures.append(f"{name}:{number}: {found[1]} stays in {' '.join(places)}")

print("\n".join(failures) or f"{len(files.stdout.split())} files include only what they may")
sys.exit(1 if failures else 0)
