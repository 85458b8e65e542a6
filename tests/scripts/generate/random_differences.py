"""Runs random calls of ops in Kiln and looks for differences.

    python random_differences.py kiln --torch [--seed 1] [--count 2000]    results and gradients against PyTorch's
    python random_differences.py kiln --self [--signatures]                compiled, batched and differentiated against plain

With --signatures calls are drawn from the signatures in docs/ops.md, wrong ones among them; else from families of calls that
mostly mean something. What is printed is to be read by a person: equals may be told apart in another order, and PyTorch has
no kernels for some dtypes (docs/pytorch.md).
"""
import argparse
import math
import re
import subprocess
import tempfile
from pathlib import Path

from random_calls import Draw, FLOATS, signatures

HERE = Path(__file__).parent
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")
WIDTHS = {"f16": 2e-2, "bf16": 2e-2, "f32": 1e-4, "f64": 1e-9}


def close(a, b):
    """Equal texts of results, apart from the last digits of floats."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    width = max([WIDTHS[name] for name in WIDTHS if f"{name}[" in a] or [0])
    pairs = [(float(x), float(y)) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b))]
    largest = max([abs(x) for x, _ in pairs if math.isfinite(x)] + [1e-3])
    return all(x == y or math.isnan(x) and math.isnan(y) or abs(x - y) <= width * largest for x, y in pairs)


def run(kiln, program):
    with tempfile.NamedTemporaryFile("w", suffix=".kiln", delete=False) as file:
        file.write(program)
    done = subprocess.run([kiln, file.name], capture_output=True, text=True)
    if done.returncode:
        print(f"kiln ended with {done.returncode}: {done.stderr[-2000:]} ({file.name})")
    return done.stdout


def show(kind, call, first, second):
    print(f"{kind}: {call}\n    {first[:300]}\n    {second[:300]}")


def with_gradients(draw, call, operands):
    """Statements and an expression: the result, or the gradients of a weighted sum of it."""
    values = [f"{name} = {draw.laid_out(*operand)}" for name, operand in zip("xy", operands)]
    writes = re.search(r"_\(", call)
    if writes or any(dtype not in FLOATS for _, dtype in operands) or draw.chance(0.5):
        return "; ".join(values + [call])
    leaves = [f"{value.split(' = ', 1)[0]} = ({value.split(' = ', 1)[1]}).clone().requires_grad_()" for value in values]
    weighted = "w = ((arange(r.numel(), dtype=f64) * 0.9).cos() + 0.2).reshape(r.shape).to(r.dtype)"
    return "; ".join(leaves + [f"r = {call}", weighted, "(r * w).sum().backward()",
                               "[" + ", ".join(f"{name}.grad" for name, _ in zip("xy", operands)) + "]"])


def against_torch(kiln, draw, count):
    import torch.nn.functional as functional
    import torch_oracle as oracle
    for name in ["mse_loss", "avg_pool2d", "adaptive_avg_pool2d", "scaled_dot_product_attention", "max_pool2d", "l1_loss"]:
        oracle.OTHER_NAMES[name] = getattr(functional, name)
    cases = [with_gradients(draw, *draw.call()) for _ in range(count)]
    prelude = oracle.prelude("").replace('print("refused")', 'print("refused " + err.kind + ": " + err.message)').replace("catch {", "catch err {")
    found = run(kiln, prelude + "\n".join(f"exact({oracle.as_function(case)})" for case in cases) + "\n").split("\n")
    for case, ours in zip(cases, found):
        try:
            theirs = oracle.evaluate(case, True).replace("None", "none")
        except KeyError:
            continue  # not PyTorch's
        refused = [text.startswith("refused") for text in (theirs, ours)]
        if refused == [False, False] and not close(theirs, ours):
            show("differs", case, theirs, ours)
        elif refused[0] != refused[1]:
            show("refused by one", case, theirs, ours)


def against_itself(kiln, draw, count):
    lines, calls = [(HERE / "random_self.kiln").read_text()], []
    for number in range(count):
        call, operands = draw.call()
        operands = operands + [([1], "f32")] * (2 - len(operands))
        calls.append(f"(x, y) => {call}, {', '.join(draw.laid_out(*each) for each in operands)}")
        lines.append(f"try {{ check({number}, {calls[-1]}) }} catch e {{ print(f'{number} fails'); print(e.kind); print(e.message) }}")
    told = run(kiln, "\n".join(lines) + "\n").split("\n")
    for k, line in enumerate(told):
        match = re.fullmatch(r"(\d+) ([a-z ]+)", line)
        if match and not (match[2].startswith("near") and close(told[k + 1], told[k + 2])):
            show(match[2], calls[int(match[1])], told[k + 1], told[k + 2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kiln")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--self", action="store_true", dest="itself")
    parser.add_argument("--signatures", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    drawn = signatures(HERE / "../../../docs/ops.md") if options.signatures else ()
    if options.torch:
        against_torch(options.kiln, Draw(options.seed, drawn), options.count)
    if options.itself:
        against_itself(options.kiln, Draw(options.seed, drawn), options.count)


if __name__ == "__main__":
    main()
