#!/usr/bin/env python3
"""Checks that what is known of ops stands in their rows, and that somebody reads it.

No name of an op stands in quotes outside the table, no registry is keyed by what a row computes with, and every trait,
effect, flag and column of a row has a reader.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Kernels are added to a device's column by the names of their rows.
COLUMN = re.compile(r"^void add_\w+\((?:Column& column|Kernels& kernels)\) \{.*?^\}", re.DOTALL | re.MULTILINE)
# The table with its column of ONNX, the ops that passes make by themselves, and how the language spells ops.
MAY_NAME = ("tensor/ops/", "tensor/onnx/", "tensor/core_ops.cpp", "tensor/operators.cpp", "tensor/op_names.cpp")
# Words that are no ops where they stand: names of arguments, of functions and methods of the host language, of types,
# and of what a text or an error speaks of.
OTHER_WORDS = {
    "repl/op_types.cpp": "complex",
    "repl/documentation.cpp": "complex",
    "interpreter/vm/members.cpp": "imag real",
    "interpreter/host/number_types.cpp": "complex imag real",
    "interpreter/capture/flow/host.cpp": "abs max min pow shape",
    "interpreter/capture/guard.cpp": "contiguous",
    "interpreter/capture/observe_call.cpp": "index",
    "interpreter/capture/observe_attributes.cpp": "shape",
    "interpreter/capture/observe_numbers.cpp": "max min pow",
    "interpreter/capture/rules.cpp": "abs add all any complex copy index max min pow round shape slice sum",
    "interpreter/text/describe.cpp": "complex slice",
    "interpreter/files/npy.cpp": "i1 shape",
    "interpreter/files/safetensors.cpp": "shape",
    "interpreter/host/source_names.cpp": "as_strided max min zeros",  # names that source means by its own
    "interpreter/host/list_methods.cpp": "index",
    "interpreter/host/math.cpp": "max min",
    "interpreter/host/plain_methods.cpp": "imag index real trace",
    "interpreter/host/regex.cpp": "full",
    "interpreter/trace_text.cpp": "cat",  # a field of the trace
    "interpreter/host/plot_call.cpp": "linear log",  # scales of axes
    "interpreter/host/str_case_methods.cpp": "fill",
    "interpreter/host/str_methods.cpp": "sub",
    "interpreter/host/tensor_methods.cpp": "imag real shape",
    "interpreter/host/types.cpp": "complex slice",
    "interpreter/vm/op_call.cpp": "max min",  # arguments of clamp
    "interpreter/vm/op_entry.cpp": "complex elementwise",  # a family
    "interpreter/vm/signature.cpp": "any complex",
    "interpreter/vm/tensor_index.cpp": "copy",
    "jit/llvm/emit.cpp": "any",
    "jit/loops/print_loops.cpp": "maximum minimum sum",  # how a reduction combines, in the text of a kernel
    "jit/flow/parse_flow.cpp": "where",
    "jit/graph/parse.cpp": "where",
    "jit/trace/view_origins.cpp": "shape",
    "repl/commands/looking.cpp": "full",
    "repl/completion/words.cpp": "dot",  # a command
    "repl/graphviz.cpp": "dot",  # a program
    "repl/commands/overview.cpp": "full",
    "repl/commands/pictures.cpp": "dot",
    "repl/commands/profiling.cpp": "trace",
    "repl/index_type.cpp": "index",
    "repl/type_of.cpp": "complex imag real shape slice",
    "tensor/collective.cpp": "max min sum",  # reductions over ranks
    "tensor/cpu/moves/pad.cpp": "pad",  # in its errors
    "tensor/cuda/moves.cpp": "pad",  # in its errors
    "tensor/cuda/random.cpp": "bernoulli",  # in its errors
    "tensor/dim_parse.cpp": "max min",
    "tensor/product_operands.cpp": "matmul",  # in its errors
    "tensor/signature.cpp": "dims index ints",
    "tensor/tape/storage_write.cpp": "shape",
}
# Ops of one graph are known by what runs them.
OWN_OPS = ("jit/runtime/custom.cpp", "jit/runtime/loop.cpp", "jit/runtime/loop_backward.cpp",
           "jit/loops/kernel_op.cpp")


def op_names():
    """Every name of the table: its reference is made from it, and checked by a test of its own."""
    names = re.findall(r"^### `?([a-z_0-9.]+)`?$", (ROOT / "docs/ops.md").read_text(), re.MULTILINE)
    rows = re.findall(r"^KILN_\w+ARY\((\w+), \"\(", (ROOT / "tensor/ops/elementwise.def").read_text(), re.MULTILINE)
    return set(names) | set(rows)


def code_of(text):
    return re.sub(r"//[^\n]*", "", text)


def named_ops(code, names, others):
    for found in re.finditer(r'"([a-z_0-9.]+)"', code):
        if found[1] in names and found[1] not in others:
            yield code.count("\n", 0, found.start()) + 1, f'"{found[1]}"'


def keyed_facts(code):
    """Facts of an op that hang on its name or on the address of what computes it."""
    rules = (r"\b\w*\.(?:call|run|decompose) *[!=]= *&?\w+", r"\bname\(\)\.(?:starts|ends)_with\(")
    for rule in rules:
        for found in re.finditer(rule, code):
            if not re.search(r"[!=]= *(?:nullptr|decompose)", found[0]):
                yield code.count("\n", 0, found.start()) + 1, found[0]


def enumerators(header, enum):
    body = re.search(rf"enum {enum}\b[^{{]*\{{(.*?)\n\}};", header, re.DOTALL)[1]
    return [name for name in re.findall(r"^  (k\w+)", body, re.MULTILINE) if name != "kNoEffects"]


def columns(header):
    body = re.search(r"\nstruct Op \{\n(.*?)\n\n", header, re.DOTALL)[1]
    fields = re.findall(r"^  [\w:<>*, ]+ \*?(\w+)(?: = [^;]+|\{[^;]*\})?;", code_of(body), re.MULTILINE)
    return fields


def reads_of(trait):
    """Asked with `has`, or masked out of a word of bits; not set in a row."""
    return rf"has\({trait}\)|& \(?(?:k\w+ \| )*{trait}\b"


def reads_of_column(name):
    return rf"(?:\.|->){name}\b(?!\s*(?:=[^=]|\|=|\+=))|\breturn [^;]*\b{name}\b"


def check_rules():
    names = {"clone", "matmul", "shape"}
    wrong = [
        (list(named_ops('op == &table.at("clone")', names, set())), "a quoted name"),
        (list(named_ops('{"matmul", 2}', names, {"shape"})), "a quoted name in a list"),
        (list(keyed_facts("if (kernel.run == matmul) return 1;")), "an address of a kernel"),
        (list(keyed_facts("return op.decompose != &cat_body;")), "an address of a body"),
        (list(keyed_facts('op.name().ends_with("_scatter")')), "an ending of a name"),
        (re.findall(reads_of("kInplace"), "if (op.has(kInplace)) {"), "a read trait"),
        (re.findall(reads_of("kMayFail"), "(effects & (kDraws | kMayFail)) != 0"), "a read effect"),
        (re.findall(reads_of_column("saves"), "keep(op.saves.inputs)"), "a read column"),
    ]
    right = [
        (list(named_ops('value.shape("shape")', names, {"shape"})), "a word that is no op"),
        (list(keyed_facts("if (op.decompose == nullptr) refuse();")), "a missing body"),
        (re.findall(reads_of("kInplace"), ".traits = kInplace | kCommutative"), "a trait that is set"),
        (re.findall(reads_of_column("onnx"), ".onnx = onnx, row.onnx = 1"), "a column that is set"),
    ]
    return [f"no rule finds {what}" for found, what in wrong if not found] + [
        f"a rule finds {what}" for found, what in right if found
    ]


failures = check_rules()
names = op_names()
if len(names) < 250:
    failures.append(f"docs/ops.md: {len(names)} names of ops found")
patterns = [f"{room}/*.{ending}" for room in ("tensor", "jit", "interpreter", "repl") for ending in ("h", "cpp")]
listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
texts = {name: COLUMN.sub("", code_of((ROOT / name).read_text())) for name in listed.stdout.split() if (ROOT / name).exists()}
used = {name: set() for name in OTHER_WORDS}
for name, code in texts.items():
    others = set(OTHER_WORDS.get(name, "").split())
    if others:
        used[name] = {word for word in others if f'"{word}"' in code}
    if not name.startswith(MAY_NAME):
        failures += [f"{name}:{line}: {what} is an op; name it in tensor/core_ops.h, or make the fact a column of its row"
                     for line, what in named_ops(code, names, others)]
    if not name.startswith(OWN_OPS):
        failures += [f"{name}:{line}: {what}: a fact of an op belongs in its row" for line, what in keyed_facts(code)]
for name, words in OTHER_WORDS.items():
    for word in sorted(set(words.split()) - used[name]):
        failures.append(f"{name}: \"{word}\" no longer stands there; take it out of the list")

header = texts["tensor/op.h"]
everything = "\n".join(texts.values())
others = "\n".join(code for name, code in texts.items() if not name.startswith("tensor/ops/"))
flags = re.findall(r"constexpr unsigned (k\w+) =", texts["tensor/ops/row_flags.h"])
for trait in enumerators(header, "Trait") + enumerators(header, "SideEffect"):
    if not re.search(reads_of(trait), everything):
        failures.append(f"tensor/op.h: nothing reads {trait}")
for flag in flags:
    readers = [name for name, code in texts.items() if name != "tensor/ops/row_flags.h" and re.search(rf"\b{flag}\b", code)]
    if not readers and not re.search(r"Shift$|^kBounds$|^kRowFlags$", flag):  # made of others, or what others are made of
        failures.append(f"tensor/ops/row_flags.h: nothing reads {flag}")
found = columns(header)
if len(found) < 20:
    failures.append(f"tensor/op.h: {len(found)} columns found")
for column in found:
    is_read = re.search(reads_of_column(column), others)
    if not is_read:
        failures.append(f"tensor/op.h: nothing reads {column}")
for facts in re.findall(r"^struct (\w+) \{", re.search(r"namespace lowering \{(.*)\} *\n\nclass", texts["tensor/lowering.h"],
                                                       re.DOTALL)[1], re.MULTILINE):
    if f"as<lowering::{facts}>" not in everything:
        failures.append(f"tensor/lowering.h: nothing reads lowering::{facts}")

print("\n".join(failures) or f"{len(texts)} files ask rows, {len(found)} columns of which say what is known of {len(names)} ops")
sys.exit(1 if failures else 0)
