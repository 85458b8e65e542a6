#!/usr/bin/env python3
"""Runs the node tests of the package onnx through Kiln's importer: onnx_nodes.py [--update] [--fast] [NAME...]

Each case runs node by node, as a graph, and as compiled kernels (not with --fast). Fails when a result is out of tolerance
in any of these ways, or when fewer than 1,250 cases pass. --update writes the table of docs/onnx_import.md anew.
"""
# Environment: onnx
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from onnx_cases import cases, write_case  # noqa: E402

LEAST = 1250
DOCUMENT = HERE.parent.parent / "docs" / "onnx_import.md"


def run(runner, folders, compiled):
    """Lines of the runner by name. A case that ends it is told, and the others go on."""
    results = {}
    left = list(folders)
    while left:
        options = ["--compiled"] if compiled else []
        batch = left[:400]
        made = subprocess.run([runner, *options, *map(str, batch)], capture_output=True, text=True, check=False)
        done = [line.split("\t") for line in made.stdout.splitlines()]
        for fields in done:
            results[fields[0]] = fields[1:] if len(fields) == 5 else [f"broken: {made.stderr[-300:]}", "", "", "0"]
        left = left[max(len(done), 1):]
    return results


def reason_of(outcome):
    """Without names of values, so that cases of one reason are one row."""
    text = outcome.removeprefix("refused: ")
    return re.sub(r"^(\S+)( '[^']*')?: ", "", text)


def table(rows):
    """Operators with their cases: how many pass, and why others do not."""
    lines = ["| operator | cases | pass | others |", "|---|---|---|---|"]
    for name, (count, passed, reasons) in sorted(rows.items()):
        why = "; ".join(f"{text} ({number})" if number > 1 else text for text, number in reasons.most_common())
        lines.append(f"| {name} | {count} | {passed} | {why} |")
    return "\n".join(lines) + "\n"


def operator_of(case):
    """The operator that a case is about; of one that is written as smaller operators, that which its name begins with."""
    nodes = [node.op_type for node in case.model.graph.node if node.op_type != "Constant"]
    if len(nodes) == 1:
        return nodes[0]
    return case.name.removeprefix("test_").split("_")[0] + " (as smaller operators)"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fast", action="store_true")
    arguments.add_argument("--update", action="store_true")
    arguments.add_argument("--log", type=Path)
    arguments.add_argument("names", nargs="*")
    given = arguments.parse_args()
    runner = Path(os.environ["KILN"]).resolve().parent / "tests" / "onnx_runner"
    chosen = [case for case in cases() if not given.names or any(name in case.name for name in given.names)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        unwritten = {case.name: why for case in chosen if (why := write_case(case, root / case.name))}
        results = run(runner, [root / case.name for case in chosen if case.name not in unwritten], not given.fast)
    rows = collections.defaultdict(lambda: [0, 0, collections.Counter()])
    passed, graphs, wrong = 0, 0, []
    log = []
    for case in chosen:
        eager, graph, kernels, fixed = results.get(case.name) or [f"refused: {unwritten[case.name]}", "", "", "0"]
        log.append(f"{case.name}\t{eager}\t{graph}\t{kernels}\t{fixed}")
        row = rows[operator_of(case)]
        row[0] += 1
        wrong += [f"{case.name}: {each}" for each in (eager, graph, kernels) if each.startswith(("wrong", "broken"))]
        if eager == "right":
            passed += 1
            row[1] += 1
            graphs += graph == "right" and fixed == "0"
        else:
            row[2][reason_of(eager)] += 1
    if given.log:
        given.log.write_text("\n".join(log) + "\n")
    if given.update:
        head, _, tail = DOCUMENT.read_text().partition("<!-- node tests -->\n")
        tail = tail.partition("<!-- end -->\n")[2]
        DOCUMENT.write_text(f"{head}<!-- node tests -->\n{table(rows)}<!-- end -->\n{tail}")
    print(f"{passed} of {len(chosen)} node tests pass, {graphs} of them as graphs of all inputs; {len(wrong)} are wrong")
    print("\n".join(wrong))
    sys.exit(bool(wrong) or (not given.names and passed < LEAST))


if __name__ == "__main__":
    main()
