#!/usr/bin/env python3
"""Builds shared objects by `kiln build`, calls them, and compares their bits with Kiln's own: check_build.py KILN."""
import ctypes
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

KILN = str(Path(sys.argv[1]).resolve())
PROGRAM = """
weights = (arange(64.0).reshape(16, 4) * 0.37).sin()
fn gelu(x) { return x * sigmoid(1.702 * x) + x.sum(dim=1, keepdim=true) }
fn layer(x, scale) { h = (x @ weights + scale).relu(); return h.softmax(dim=1), h.argmax(dim=1) }
fn wide(x) { return (x @ x.t()).exp().mean(dim=0) }
fn draws(x) { return x + randn(4) }
fn writes(x) { x += 1; return x }
fn typed(x: f32[n, 16], w: f32[16, 2 * k], bias: f32[2 * k] = none) { return (x @ w).tanh() }
fn fixed(x: f32[4, 3]) { return x.cumsum(dim=0) }
fn open_sizes(x: f32[n, _], y, z: float[n]) { return x }
fn chosen(x) { if x.sum().item() > 0 { print("yes") }; return x * 2 }
"""
random.seed(1)
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def kiln(folder, *arguments):
    return subprocess.run([KILN, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


def build(folder, entry, *shapes):
    return build_with(folder, entry, *[word for shape in shapes for word in ("--shape", shape)])


def build_with(folder, entry, *options):
    return kiln(folder, "build", "p.kiln", "--entry", entry, *options, "-o", f"{entry}.so", f"{entry}.h")


def floats(count):
    return (ctypes.c_float * count)(*[random.uniform(-2, 2) for _ in range(count)])


def spelled(array, shape):
    """A tensor with these elements: their shortest texts as doubles are read back as they are."""
    return f"tensor({[float(x) for x in array]!r}, dtype=f32).reshape({shape})"


def expected(folder, call, arrays):
    """The bits of the results of a call in Kiln, as numbers."""
    lines = [f"a{i} = {spelled(array, shape)}" for i, (array, shape) in enumerate(arrays)]
    lines.append(f"r = {call}\nfor each in (r if isinstance(r, tuple) else (r,)) {{ print(each.flatten().double().tolist()) }}")
    Path(folder, "compare.kiln").write_text(PROGRAM + "\n".join(lines) + "\n")
    ran = kiln(folder, "compare.kiln")
    check(ran.returncode == 0, ran.stderr)
    return [[float(x) for x in line.strip("[]\n").split(",")] for line in ran.stdout.splitlines()]


def same(array, numbers):
    return len(array) == len(numbers) and all(
        a == b and math.copysign(1, a) == math.copysign(1, b) for a, b in zip(array, numbers)
    )


def compare(folder, entry, arrays, results, types):
    compare_built(folder, entry, arrays, results, build(folder, entry, *types))


def compare_built(folder, entry, arrays, results, made):
    check(made.returncode == 0, f"{entry}: {made.stderr}")
    if made.returncode != 0:
        return
    function = getattr(ctypes.CDLL(str(Path(folder, f"{entry}.so"))), entry)
    code = function(*[array for array, _ in arrays], *results)
    check(code == 0, f"{entry}: gave {code}")
    call = f"{entry}({', '.join(f'a{i}' for i in range(len(arrays)))})"
    for k, (result, numbers) in enumerate(zip(results, expected(folder, call, arrays), strict=True)):
        check(same(result, numbers), f"{entry}: result {k} differs: {list(result)[:4]} and {numbers[:4]}")


def check_results(folder):
    compare(folder, "gelu", [(floats(8 * 33), [8, 33])], [floats(8 * 33)], ["f32[8, 33]"])
    compare(
        folder,
        "layer",
        [(floats(8 * 16), [8, 16]), (floats(4), [4])],
        [floats(8 * 4), (ctypes.c_int64 * 8)()],
        ["f32[8, 16]", "f32[4]"],
    )
    compare(folder, "wide", [(floats(96 * 80), [96, 80])], [floats(96)], ["f32[96, 80]"])


def check_signatures(folder):
    """Types are taken from the signature, sizes of it from types and sizes that are given."""
    compare(folder, "fixed", [(floats(12), [4, 3])], [floats(12)], [])
    arrays = [(floats(5 * 16), [5, 16]), (floats(16 * 6), [16, 6])]
    for options in (["--size", "n=5", "--size", "k=3"], ["--shape", "f32[5, 16]", "--size", "k=3"], ["--shape", "w=f32[16, 6]", "--size", "n=5"],
                    ["--shape", "bias=f32[6]", "--size", "n=5"]):
        made = build_with(folder, "typed", *options)
        if options[1].startswith("bias"):
            check("typed(f32[5, 16], f32[16, 6], f32[6]) ->" in made.stdout or "typed(f32[5, 16], f32[16, 6])" in made.stdout, made.stdout + made.stderr)
        else:
            compare_built(folder, "typed", arrays, [floats(5 * 6)], made)
    for entry, options, words in (
        ("typed", [], "`n` in `x: f32[n, 16]` has no value; `k` in `w: f32[16, 2 * k]` has no value\nhelp: `--size n=8` says it"),
        ("open_sizes", ["--size", "n=2"], "`x: f32[n, _]` leaves `_` open; `y` has no type in the signature; `z: float[n]` names no dtype"),
        ("gelu", [], "`x` has no type in the signature\nhelp: `--shape 'x=f32[8, 16]'` says it"),
        ("typed", ["--size", "m=2"], "no size in the signature of typed is called `m`"),
        ("typed", ["--size", "n"], "`--size` takes NAME=N, as n=8, not `n`"),
        ("typed", ["--shape", "q=f32[2]"], "typed has no parameter `q`"),
        ("fixed", ["--shape", "f32[4, 3]", "--shape", "f32[4]"], "fixed has 1 parameter, and is given 2 types"),
        ("fixed", ["--shape", "f32[4, 4]"], "parameter `x` of fixed must be f32[4, 3], got f32[4, 4]"),
    ):
        made = build_with(folder, entry, *options)
        check(made.returncode != 0 and words in made.stderr, f"{entry} {options}: {made.stderr}")


def check_library(folder):
    """It shows its two functions, needs no part of Kiln, and its errors are codes."""
    shown = subprocess.run(["nm", "-D", "--defined-only", "gelu.so"], cwd=folder, capture_output=True, text=True).stdout
    check(sorted(line.split()[-1] for line in shown.splitlines()) == ["gelu", "gelu_error"], shown)
    needed = subprocess.run(["readelf", "-d", "gelu.so"], cwd=folder, capture_output=True, text=True).stdout
    check("kiln" not in needed.split("SONAME")[0].lower(), needed)
    library = ctypes.CDLL(str(Path(folder, "gelu.so")))
    library.gelu_error.restype = ctypes.c_char_p
    check(library.gelu(None, floats(8 * 33)) == 1 and b"x is NULL" in library.gelu_error(), "NULL is no error")
    uses_header = '#include "gelu.h"\nint main(void) { static float x[264], y[264]; return gelu(x, y); }\n'
    Path(folder, "main.c").write_text(uses_header)
    command = ["cc", "-std=c11", "-Wall", "-Werror", "main.c", "./gelu.so", "-o", "main"]
    compiled = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    check(compiled.returncode == 0 and subprocess.run(["./main"], cwd=folder).returncode == 0, compiled.stderr)


def check_refusals(folder):
    for entry, types, words in (
        ("draws", ["f32[4]"], "randn draws random numbers (p.kiln:6"),
        ("writes", ["f32[4]"], "it writes to `x`"),
        ("chosen", ["f32[4]"], "p.kiln:11"),
        ("gelu", [], "x"),
        ("gelu", ["f32[8"], "is no type of a tensor"),
        ("no_such", [], "no_such"),
    ):
        made = build(folder, entry, *types)
        check(made.returncode != 0 and words in made.stderr, f"{entry} {types}: {made.stderr}")
    check(not list(Path(folder).glob("*.payload")), "a payload is left")


with tempfile.TemporaryDirectory() as folder:
    Path(folder, "p.kiln").write_text(PROGRAM)
    check_results(folder)
    check_signatures(folder)
    check_library(folder)
    check_refusals(folder)
print("\n".join(failures) or "built libraries give Kiln's bits")
sys.exit(1 if failures else 0)
