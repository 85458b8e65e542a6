#!/usr/bin/env python3
"""What JupyterLab shows of Kiln, in a headless Chromium: tables, pictures, errors with carets, progress, the page of all stages.
Skipped where no Chromium is found. With --keep FOLDER it leaves screenshots for people to look at."""
# Environment: jupyter

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.kernels import ROOT, Place, kernel_program  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "page"))

from browser import Browser, find_chromium  # noqa: E402

PATIENCE = 120
# Each cell with what its output must have, as a condition on the element of the output.
CELLS = [
    ("tensor([[1.5, 2.0], [3.0, 4.25]])", "out.querySelectorAll('table td').length === 4"),
    ("randn(3, 40, 50)", "out.querySelectorAll('table').length === 3"),
    ("plot([0, 1, 4, 9], title=\"squares\")", "out.querySelector('img').naturalWidth > 400"),
    ("imshow(arange(64).reshape(8, 8) / 63)", "out.querySelector('img') !== null"),
    ("for i in progress(range(40), desc=\"steps\") { sleep(0.01) }", "out.innerText.includes('40/40')"),
    ("x = ones(2, 3)\nx @ x", "out.innerText.includes('ShapeError') && out.innerText.includes('^')"),
    ("fn f(x) = (x.sin() * 2).sum()\ngraph(f, ones(3))", "out.querySelector('img, svg') !== null"),
    (":html f(ones(64))", "out.querySelector('iframe') !== null"),
    ("?relu", "out.innerText.includes('relu')"),
]


def write_notebook(path):
    cells = [{"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
             for number, (source, _) in enumerate(CELLS)]
    kernel = {"kernelspec": {"name": "kiln", "display_name": "Kiln", "language": "kiln"}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


class Lab:
    """JupyterLab on a port of its own; ends with the scope."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0", "--ServerApp.port_retries=0",
                   "--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.expose_app_in_browser=True",
                   "--LabApp.extension_manager=readonly", f"--ServerApp.root_dir={folder}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=folder)
        self.url = None
        for line in self.process.stderr:
            if found := re.search(r"(http://localhost:[1-9]\d*)/", line):
                self.url = found[1]
                break
        assert self.url, "JupyterLab did not start"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def wait_for(browser, expression):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if browser.evaluate(expression):
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {expression}")


NOTEBOOK = "[...(window.jupyterapp?.shell.widgets('main') ?? [])].find(each => each.context?.path === 'notebook.ipynb')"
# Cells behind the error run, too.
RUN_ALL = f"""(async () => {{
  const notebook = {NOTEBOOK};
  window.jupyterapp.shell.activateById(notebook.id);
  for (let i = 0; i < notebook.content.widgets.length; ++i) {{
    notebook.content.activeCellIndex = i;
    await window.jupyterapp.commands.execute("notebook:run-cell");
  }}
}})().then(() => 0)"""


def look(browser, url, keep):
    browser.open(f"{url}/lab/tree/notebook.ipynb?reset")
    wait_for(browser, f"({NOTEBOOK})?.sessionContext?.session?.kernel?.status === 'idle'")
    browser.evaluate(RUN_ALL)
    for number, (source, condition) in enumerate(CELLS):
        browser.evaluate(f"({NOTEBOOK}).content.scrollToItem({number}, 'start').then(() => 0)")
        wait_for(browser, f"(out => {condition})(({NOTEBOOK}).content.widgets[{number}].outputArea.node)")
        if keep:
            time.sleep(1)
            browser.screenshot(os.path.join(keep, f"cell-{number}.png"))
        print(f"shown: {source.splitlines()[-1]}", flush=True)


def main():
    keep = sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else None
    chromium = find_chromium()
    if chromium is None:
        print("there is no Chromium")
        sys.exit(77)
    with Place(kernel_program()) as place:
        folder = Path(place.folder.name) / "notebooks"
        folder.mkdir()
        write_notebook(folder / "notebook.ipynb")
        with Lab(folder) as lab:
            browser = Browser(chromium, 1200, 900)
            try:
                look(browser, lab.url, keep)
            finally:
                browser.close()


if __name__ == "__main__":
    main()
