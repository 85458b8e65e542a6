#!/usr/bin/env python3
"""Every document with examples as a notebook that nbclient runs: each cell shows what the document says. Arguments: names of
documents below docs, all by default."""
# Environment: jupyter

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import nbclient  # noqa: E402
import nbformat  # noqa: E402
from support.kernels import ROOT, Place, kernel_program, text_of  # noqa: E402


def shown(cell):
    """What a test of the document compares: results and prints, and of what goes to stderr the first line."""
    printed, said = "", ""
    for each in cell.outputs:
        if each.output_type == "error" or each.get("name") == "stderr":
            said += text_of(each.output_type, each)
        else:
            printed += text_of(each.output_type, each)
    return printed + said.split("\n")[0]


def trimmed(text):
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def differences(program, document, folder):
    target = os.path.join(folder, document.stem + ".ipynb")
    subprocess.run([program, "convert", document, target], check=True, capture_output=True)
    notebook = nbformat.read(target, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not cells:
        return 0, []
    client = nbclient.NotebookClient(notebook, kernel_name="kiln", allow_errors=True, timeout=300)
    client.execute(cwd=str(ROOT))
    wrong = []
    for cell in cells:
        expected, actual = cell.metadata.kiln.expected, shown(cell)
        if trimmed(expected) != trimmed(actual):
            wrong.append(f"{document.name}: {cell.source}\n  expected\n{expected}\n  shown\n{actual}")
    return len(cells), wrong


def main():
    documents = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/lessons/*.md"), ROOT / "README.md"])
    if sys.argv[1:]:
        documents = [each for each in documents if each.stem in sys.argv[1:]]
    program = kernel_program()
    count, wrong = 0, []
    with Place(program), tempfile.TemporaryDirectory() as folder:
        for document in documents:
            cells, found = differences(program, document, folder)
            count += cells
            wrong += found
            print(f"{document.relative_to(ROOT)}: {cells} cells, {len(found)} differ", flush=True)
    print("\n".join(wrong))
    print(f"{count} cells, {len(wrong)} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
