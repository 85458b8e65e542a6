#!/usr/bin/env python3
"""Checks that which passes run is decided in one file: elsewhere recipes are named, never lists of passes."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = "jit/passes/recipes.cpp"
# What makes passes and recipes; those who run a pass by the name that the user gave look it up.
KERNEL_PASSES = ("inline_shifted", "group", "lower_groups", "compile_kernels")
MAY_NAME = (TABLE, "jit/passes/", *(f"jit/pipeline/{name}.cpp" for name in KERNEL_PASSES))


def pass_names(table):
    rows = table[table.index("kPasses[] = {"):table.index("// There is no such pass")]
    return re.findall(r'^    \{"(\w+)"', rows, re.MULTILINE)


def faults_of(text, names):
    """What is wrong in the text of a file: (line, why)."""
    any_name = "|".join(names)
    rules = [
        (rf'"(?:{any_name})"\s*,\s*"(?:{any_name})"', "a list of passes"),
        (rf'find_pass\(\s*"(?:{any_name})"', "a pass picked by its name"),
        (r"\b(?:jit::)?(?:Recipe|RecipeStep)\s+\w+(?:\[\])?\s*[{=]", "a recipe"),
        (rf"\b(?:{any_name})\(\s*(?:jit::)?(?:{any_name}|fuse|run_recipe)\(", "passes one after the other"),
        (rf"\bjit::(?:{any_name})\(", "a pass called by its name"),
        (r'#include "jit/passes/passes\.h"', "the functions of passes"),
    ]
    for pattern, why in rules:
        for found in re.finditer(pattern, text):
            yield text.count("\n", 0, found.start()) + 1, why


def check_rules(names):
    """The rules find what they are for, and leave alone what is none of it."""
    wrong = [
        'constexpr std::string_view kOwn[] = {"dce",\n    "reinplace"};',
        'find_pass("cse")->run(graph);',
        'const jit::Recipe mine{"mine", "", steps};',
        "return dce(cse(graph));",
        "return reinplace(fuse(graph).graph);",
        "graph = jit::dce(graph);",
        '#include "jit/passes/passes.h"\n',
    ]
    right = [
        "run_recipe(recipes::kFunctional, graph)",
        'run_pass(g, \\"cse\\").ops()',
        "find_pass(name)",
        "for (const Step& each : recipe.steps) {}",
    ]
    return [f"no rule finds: {each}" for each in wrong if not list(faults_of(each, names))] + [
        f"a rule finds: {each}" for each in right if list(faults_of(each, names))
    ]


names = pass_names((ROOT / TABLE).read_text())
failures = check_rules(names)
if len(names) < 10:
    failures.append(f"{TABLE}: {len(names)} passes found in the table")
files = subprocess.run(["git", "ls-files", "jit/*.h", "jit/*.cpp", "interpreter/*.h", "interpreter/*.cpp", "repl/*.h",
                        "repl/*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
for name in files:
    path = ROOT / name
    if name.startswith(MAY_NAME) or not path.exists():
        continue
    failures += [f"{name}:{line}: {why}; name a recipe of {TABLE}" for line, why in faults_of(path.read_text(), names)]

print("\n".join(failures) or f"{len(files)} files name recipes, and none lists passes")
sys.exit(1 if failures else 0)
