#!/usr/bin/env python3
"""Checks that kernels alone touch the memory of tensors: other code sees elements through a HostView, which works for
devices whose memory the host cannot touch."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Kernels, what launches them, and what memory and views are made of.
MAY_TOUCH = (
    "tensor/cpu/",
    "tensor/cuda/",
    "tensor/transfer.",
    "tensor/ops/",
    "tensor/host_view.",
    "tensor/storage.",
    "tensor/tensor.",
    "jit/cpu/",
    "jit/cuda/",
    "jit/runtime/bound_program",
)
# Files that do it in other ways: how often, and why they may.
KNOWN = {
    "interpreter/host/tensor_methods.cpp": (1, "data_ptr says where the memory is, and reads nothing"),
}
# Moving elements on the CPU is a kernel too: others call an op, or look through a HostView.
KERNELS_OF_MOVES = r"\bcpu::(?:copy|fill|contiguous_copy)\("
MAY_MOVE = (*MAY_TOUCH, "tensor/bind.cpp")
TOUCHES = (
    r"(?:\.|->)(?:template )?(?:data|writable)<",
    r"(?:\.|->)raw(?:_writable)?\(",
    r"\bwritable_data\(",
    r"\b(?:storage|buffer)\(\)->data\(",
)


def code_of(text):
    return re.sub(r"//[^\n]*", "", text)


def found_in(code, rules):
    for rule in rules:
        for each in re.finditer(rule, code):
            yield code.count("\n", 0, each.start()) + 1, each[0]


def check_rules():
    wrong = ["x.data<float>()[0]", "kept->writable<T>()", "x.raw()", "x.raw_writable()", "x.storage()->data()",
             "storage.buffer()->data()", "storage->writable_data()", "visit<T>(x.template data<T>())"]
    right = ["view.as<float>()[0]", "names.data()", "x.storage()->bytes()", "reader.raw_byte()", "std::data(text)"]
    return [f"no rule finds: {each}" for each in wrong if not list(found_in(each, TOUCHES))] + [
        f"a rule finds: {each}" for each in right if list(found_in(each, TOUCHES))
    ]


# Where the default device has no say: what the CPU's kernels make for themselves is the CPU's.
OF_THE_CPU = ("tensor/cpu/", "jit/cpu/")


def argument_count(code, at):
    """Of the call whose parenthesis opens before `at`."""
    depth, commas = 1, 0
    while depth > 0:
        depth += (code[at] in "([{") - (code[at] in ")]}")
        commas += code[at] == "," and depth == 1
        at += 1
    return commas + 1


def without_device(code):
    for each in re.finditer(r"\bTensor::empty\(", code):
        if argument_count(code, each.end()) < 3:
            yield code.count("\n", 0, each.start()) + 1


failures = check_rules()
if list(without_device("Tensor::empty(f(a, b), c); Tensor::empty(IntDims{1, 2}, d, Device{})")) != [1]:
    failures.append("a tensor without a device is not found")
patterns = [f"{room}/*.{ending}" for room in ("tensor", "jit", "interpreter", "repl") for ending in ("h", "cpp")]
listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
names = [name for name in listed.stdout.split() if (ROOT / name).exists()]
for name in names:
    code = code_of((ROOT / name).read_text())
    touches = [] if name.startswith(MAY_TOUCH) else list(found_in(code, TOUCHES))
    if not name.startswith(MAY_MOVE):
        touches += found_in(code, (KERNELS_OF_MOVES,))
    if name.startswith(OF_THE_CPU):
        failures += [f"{name}:{line}: a kernel's own tensor names the CPU as its device" for line in without_device(code)]
    count, reason = KNOWN.get(name, (0, ""))
    if len(touches) < count:
        failures.append(f"{name}: \"{reason}\" is no longer needed; take it out of the list")
    if len(touches) > count:
        failures += [f"{name}:{line}: {what} is for kernels; look through a HostView" for line, what in touches]

print("\n".join(failures) or f"{len(names)} files see elements as the host may")
sys.exit(1 if failures else 0)
