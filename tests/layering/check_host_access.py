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
    "tensor/ops/",
    "tensor/host_view.",
    "tensor/storage.",
    "tensor/tensor.",
    "jit/cpu/",
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


failures = check_rules()
patterns = [f"{room}/*.{ending}" for room in ("tensor", "jit", "interpreter", "repl") for ending in ("h", "cpp")]
listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
names = [name for name in listed.stdout.split() if (ROOT / name).exists()]
for name in names:
    code = code_of((ROOT / name).read_text())
    touches = [] if name.startswith(MAY_TOUCH) else list(found_in(code, TOUCHES))
    if not name.startswith(MAY_MOVE):
        touches += found_in(code, (KERNELS_OF_MOVES,))
    count, reason = KNOWN.get(name, (0, ""))
    if len(touches) < count:
        failures.append(f"{name}: \"{reason}\" is no longer needed; take it out of the list")
    if len(touches) > count:
        failures += [f"{name}:{line}: {what} is for kernels; look through a HostView" for line, what in touches]

print("\n".join(failures) or f"{len(names)} files see elements as the host may")
sys.exit(1 if failures else 0)
