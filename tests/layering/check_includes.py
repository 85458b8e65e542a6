#!/usr/bin/env python3
"""Checks that no room includes a header of a room it must not know, no folder one of a folder above it, that the op table
touches no elements, and that every file stays of one idea."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAY_INCLUDE = {
    "lang": {"lang"},
    "tensor": {"tensor"},
    "dist": {"dist", "tensor"},
    "jit": {"jit", "dist", "tensor"},
    "onnx": {"onnx", "jit", "dist", "tensor"},
    "interpreter": {"interpreter", "onnx", "jit", "dist", "tensor", "lang"},
    "repl": {"repl", "interpreter", "onnx", "jit", "dist", "tensor", "lang"},
    "notebook": {"notebook", "repl", "interpreter", "onnx", "jit", "dist", "tensor", "lang"},
    "editor": {"editor", "repl", "interpreter", "onnx", "jit", "dist", "tensor", "lang"},
    "embed": {"embed", "repl", "interpreter", "onnx", "jit", "dist", "tensor", "lang"},
    "ort": {"ort", "embed", "interpreter", "onnx", "jit", "dist", "tensor", "lang"},
}
# The folders of a room, each of which may include itself and those before it. "" are the files beside the folders.
FOLDERS = {
    "dist": ["transport", "algorithms", "cards", "controller", "launch"],
    "jit": ["graph", "passes", "trace", "autodiff", "loops", "flow", "llvm", "cpu", "cuda", "runtime", "pipeline", "built"],
    "onnx": ["proto", "export", "import"],
    "tensor/cpu": ["", "elementwise", "moves", "random", "order", "folds", "products", "convolution", "linalg", "fourier", "isa"],
    "interpreter": ["values", "", "text", "files", "compile", "vm", "capture", "check", "plot", "host"],
}
# Files beside the folders that belong to one of them.
BELONGS_TO = {
    "jit/shape_rules": "graph",
    "jit/history": "autodiff",
    "jit/backward": "autodiff",
    "jit/pair_backward": "pipeline",
    "interpreter/interpreter.cpp": "host",
}
# Folders that may not include another one of their room: rules and bodies of ops stand apart from every device.
APART = {"tensor/ops/": ("tensor/cpu/", "tensor/cuda/", "tensor/parallel.h")}
# What reads or writes elements, or splits work over threads: that is for kernels, which stand with the devices.
TOUCHES_ELEMENTS = r"\b(?:data|writable)<|\braw(?:_writable)?\(\)|\bparallel_for\b|->data\(\)|storage\(\)->"
# Headers that stay in few files, so that a change elsewhere never compiles them again.
KEPT_IN = {
    "antlr4-runtime": ("lang/",),
    "readline": ("repl/",),
    "dnnl": ("tensor/cpu/",),
    "llvm": ("jit/llvm/",),
    "pcre2": ("interpreter/host/",),
    "cairo": ("interpreter/plot/raster/",),
    "ft2build": ("interpreter/plot/raster/",),
    "gif_lib": ("interpreter/plot/raster/",),
    "protozero": ("onnx/proto/",),
    "nlohmann": ("interpreter/", "lang/", "repl/page/", "notebook/", "editor/"),
    "xeus": ("notebook/kernel/",),
    "zmq": ("notebook/kernel/",),
    "jit/passes/passes.h": ("jit/passes/", "jit/pipeline/"),  # others name a recipe
}
# What places leave to others: what a device likes is known to its target, and to no pass or loop nest.
KEPT_OUT_OF = {
    "jit/loops/": ("tensor/cpu/", "tensor/cuda/", "jit/cpu/", "jit/cuda/", "jit/llvm/"),
    "jit/passes/": ("tensor/cpu/", "tensor/cuda/", "jit/cpu/", "jit/cuda/", "jit/llvm/"),
    "jit/pipeline/": ("tensor/cpu/", "tensor/cuda/", "jit/cpu/", "jit/cuda/", "jit/llvm/"),
    "jit/cuda/": ("tensor/cpu/", "jit/cpu/", "jit/llvm/"),
}
MAY_STILL = {
    ("jit/pipeline/targets.cpp", "jit/cpu/target.h"),  # the table of targets
    ("jit/pipeline/targets.cpp", "jit/cuda/target.h"),
    ("jit/pipeline/code_seal.h", "jit/llvm/keyed_sum.h"),  # a sum over bytes, which LLVM brings
}
LONGEST_FILE = 800


def folder_of(name):
    """The room with folders that a file is in, and its folder; None for files of other rooms."""
    for room in FOLDERS:
        if not name.startswith(room + "/"):
            continue
        inner = name[len(room) + 1 :]
        folder = BELONGS_TO.get(name) or BELONGS_TO.get(name.rsplit(".", 1)[0])
        return room, folder or (inner.split("/")[0] if "/" in inner else "")
    return None


def climbs(name, included):
    """Does a file include one of a folder that comes after its own?"""
    here, there = folder_of(name), folder_of(included)
    if here is None or there is None or here[0] != there[0]:
        return False
    order = FOLDERS[here[0]]
    return order.index(there[1]) > order.index(here[1])


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
        if name.startswith("tensor/ops/") and re.search(TOUCHES_ELEMENTS, line.split("//")[0]):
            failures.append(f"{name}:{number}: elements are for the kernels of a device: move this to tensor/cpu")
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not found:
            continue
        target = found[1].split("/")[0]
        if room in MAY_INCLUDE and target in MAY_INCLUDE and target not in MAY_INCLUDE[room]:
            failures.append(f"{name}:{number}: {room} must not include {found[1]}")
        for folder, others in APART.items():
            if name.startswith(folder) and found[1].startswith(others):
                failures.append(f"{name}:{number}: {folder} must not include {found[1]}")
        if climbs(name, found[1]):
            failures.append(f"{name}:{number}: {found[1]} stands in a folder above this one")
        for place, others in KEPT_OUT_OF.items():
            if name.startswith(place) and found[1].startswith(others) and (name, found[1]) not in MAY_STILL:
                failures.append(f"{name}:{number}: {place} knows nothing of {found[1]}")
        for prefix, places in KEPT_IN.items():
            if found[1].lower().startswith(prefix) and room != "tests" and not name.startswith(places):
                failures.append(f"{name}:{number}: {found[1]} stays in {' '.join(places)}")

print("\n".join(failures) or f"{len(files.stdout.split())} files include only what they may")
sys.exit(1 if failures else 0)
