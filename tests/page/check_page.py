#!/usr/bin/env python3
"""Drives the page that `:html` writes in a headless Chromium: check_page.py KILN [--keep FOLDER]. It is skipped where no
Chromium is found. With --keep it leaves screenshots for people to look at."""

import argparse
import os
import subprocess
import sys
import tempfile

from browser import Browser, find_chromium

# Two layers that are one line of the program.
PROGRAM = """fn layer(x, w) = ((x @ w).relu() + 1) * 0.5
fn net(x, w1, w2) = softmax(layer(layer(x, w1), w2), dim=1).sum()
x = randn(64, 64); w1 = randn(64, 64).requires_grad_(); w2 = randn(64, 64).requires_grad_()
"""
# The gradient of a transformer, with thousands of nodes.
LARGE = """import nn
struct Block {
  fn init(self, d) {
    self.norm1 = nn.LayerNorm(d); self.norm2 = nn.LayerNorm(d)
    self.q = nn.Linear(d, d); self.k = nn.Linear(d, d); self.v = nn.Linear(d, d)
    self.up = nn.Linear(d, 2 * d); self.down = nn.Linear(2 * d, d)
  }
  fn call(self, x) {
    h = self.norm1(x)
    x = x + softmax(self.q(h) @ self.k(h).transpose(1, 2), dim=2) @ self.v(h)
    return x + self.down(gelu(self.up(self.norm2(x))))
  }
}
struct Net {
  fn init(self) { self.layers = [Block(32) for _ in range(16)] }
  fn call(self, x) { for layer in self.layers { x = layer(x) }; return x.square().mean() }
}
net = Net()
x = randn(1, 8, 32)
"""


def write_page(kiln, program, call, folder):
    path = os.path.join(folder, "page.html")
    entries = program + f":html {call} {path}\n"
    ran = subprocess.run([kiln, "--no-init"], input=entries, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and f"wrote {path}" in ran.stdout, ran.stdout + ran.stderr
    return "file://" + path


class Page:
    """A page under test, with what the checks ask of it."""

    def __init__(self, browser, url, keep):
        self.browser = browser
        self.url = url
        self.keep = keep
        browser.open(url)
        browser.settle()

    def shot(self, name):
        if self.keep:
            self.browser.screenshot(os.path.join(self.keep, name + ".png"))

    def value(self, expression):
        return self.browser.evaluate(expression)

    def line(self, stage, text, which=0):
        """The number of a line of a stage that holds the text."""
        found = self.value(f"tablesOf({stage!r}).flatMap(t => t.lines.map((l, i) => [t.first + i, l])).filter(l => l[1].includes({text!r})).map(l => l[0])")
        assert len(found) > which, f"{stage} has no line with {text}"
        return found[which]

    def lit(self, pane):
        return set(self.value(f"[...{pane}.lit]"))


def check_stages(page):
    browser = page.browser
    page.shot("stages")
    browser.evaluate("choose(left, 'captured'); choose(right, 'asm')")
    browser.settle()
    first, second = page.line("captured", "= relu(", 0), page.line("captured", "= relu(", 1)
    browser.hover(f"#left [data-line='{first}']")
    of_first = page.lit("right")
    page.shot("hover")
    browser.hover(f"#left [data-line='{second}']")
    of_second = page.lit("right")
    assert of_first and of_second, "a node lights no instruction"
    assert not of_first & of_second, "two layers of one line of the program light together"
    # And back: an instruction lights the node that it is of.
    browser.evaluate(f"right.reveal({min(of_second)})")
    browser.settle()
    browser.hover(f"#right [data-line='{min(of_second)}']")
    assert second in page.lit("left") and first not in page.lit("left")
    # A click keeps it lit when the pointer leaves, and is kept in the address.
    browser.click(f"#right [data-line='{min(of_second)}']")
    browser.hover("#theme")
    assert second in page.lit("left")
    address = browser.evaluate("location.href")
    assert f"line={min(of_second)}" in address
    assert page.value("document.querySelectorAll('#bands path.strong').length") > 0
    page.shot("selected")
    browser.press("Escape")
    assert not page.lit("left")
    browser.open("about:blank")
    browser.open(address)
    browser.settle()
    assert second in page.lit("left") and page.value("right.stage") == "asm"
    browser.press("Escape")


def check_source(page):
    page.browser.evaluate("choose(left, 'source'); choose(right, 'loops')")
    line = page.line("source", "fn layer")
    page.browser.settle()
    page.browser.hover(f"#left [data-line='{line}']")
    texts = page.value("[...right.lit].map(textOf)")
    assert sum("relu" in each for each in texts) >= 2, texts


def check_keys(page):
    browser = page.browser
    browser.evaluate("choose(left, 'captured'); choose(right, 'fused')")
    browser.click("#left .scroll .row")
    browser.press("ArrowDown")
    assert page.value("selected") == page.value("tablesOf('captured')[0].first + 1")
    browser.press("]")
    assert page.value("left.stage") == "functional"
    browser.press("/")
    browser.send("Input.insertText", text="softmax")
    browser.settle()
    assert page.value("foundLines.size") > 0
    browser.press("Escape")
    before = page.value("right.shown.length")
    browser.click("#right [data-fold]")
    assert page.value("right.shown.length") < before
    browser.click("#right [data-fold]")
    browser.press("t")
    page.shot("theme")
    browser.press("t")


def check_views(page):
    browser = page.browser
    browser.press("Escape")
    browser.press("2")
    assert page.value("drawing.stage") == "joint"
    assert page.value("document.querySelectorAll('.group').length") > 0, "no kernel is drawn as an area"
    # Backward nodes are drawn beside the forward node that they are of, on the other side.
    facing = page.value("drawing.boxes.filter(b => b.isBackward && b.origin >= 0).every(b => b.x > Math.max(...drawing.boxes.filter(a => !a.isBackward).map(a => a.x)))")
    assert facing
    page.shot("graph")
    browser.click(".node:not(.input)")
    text = page.value("document.querySelector('.detail').textContent")
    for part in ("type", "place", "value in this call", "lines of it"):
        assert part in text, text
    page.shot("node")
    scale = page.value("drawing.scale")
    browser.press("+")
    assert page.value("drawing.scale") > scale
    browser.press("3")
    assert "decompose" in page.value("document.querySelector('#passes').textContent")
    browser.press("ArrowDown")
    assert page.value("scrubber.step") == 1
    page.shot("passes")
    browser.press("4")
    assert page.value("document.querySelectorAll('#costs .meter').length") > 0
    page.shot("costs")
    browser.click("#costs [data-go]")
    assert page.value("view") == "stages" and page.value("selected") >= 0
    browser.press("5")
    assert "x is f32[64, 64]" in page.value("document.querySelector('#notes').textContent")
    page.shot("notes")
    browser.press("1")


def check_sizes(page):
    """The page is as wide as the window, and prints."""
    for width, height in ((1280, 720), (1920, 1080)):
        page.browser.resize(width, height)
        for view in "12345":
            page.browser.press(view)
            wide = page.value("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
            assert wide <= width, f"view {view} is {wide} pixels wide in a window of {width}"
        page.browser.press("1")
        page.shot(f"wide-{width}")
    page.browser.evaluate("choose(left, 'source'); choose(right, 'asm'); window.dispatchEvent(new Event('beforeprint'))")
    assert page.value("document.querySelectorAll('#right .row').length") == page.value("right.shown.length")
    if page.keep:
        page.browser.print(os.path.join(page.keep, "printed.pdf"))
    page.browser.evaluate("window.dispatchEvent(new Event('afterprint'))")


def check_large(page):
    assert page.value("tablesOf('joint')[0].nodes.length") > 1000
    assert page.value("document.querySelectorAll('*').length") < 1000, "rows out of view are elements"
    page.shot("large")
    page.browser.press("2")
    page.shot("large-graph")
    page.browser.press("1")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln")
    parser.add_argument("--keep")
    options = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium was found")
        return 77
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kiln-page-") as folder:
        browser = Browser(chromium)
        try:
            page = Page(browser, write_page(options.kiln, PROGRAM, "net(x, w1, w2)", folder), options.keep)
            for check in (check_stages, check_source, check_keys, check_views, check_sizes):
                check(page)
            browser.resize(1280, 800)
            check_large(Page(browser, write_page(options.kiln, LARGE, "net(x)", folder), options.keep))
            assert not browser.errors, browser.errors
        finally:
            browser.close()
    print("the page does what it should")
    return 0


if __name__ == "__main__":
    sys.exit(main())
