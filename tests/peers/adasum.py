"""Compares Kiln's Adasum on 2, 3 and 4 ranks with its formula in NumPy, and with PyTorch's optimizers around it.

Horovod has Adasum for PyTorch with MPI alone, and torch.distributed has none.
"""
# Environment: torch
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
import numpy as np
import torch

import cases
import jobs
import training


def pair(a, b):
    def coefficient(x):
        return 1.0 if x @ x < np.sqrt(np.finfo(np.float64).tiny) else 1.0 - a @ b / (2.0 * (x @ x))

    return coefficient(a) * a + coefficient(b) * b


def adasum(values):
    """The tree that is cut at the largest power of two below the number of values, in f64."""
    if len(values) == 1:
        return values[0]
    cut = 1 << (len(values) - 1).bit_length() - 1
    return pair(adasum(values[:cut]), adasum(values[cut:]))


def train(setting, given, n):
    """Each rank steps by itself with an optimizer of its own; the parameters take the adaptive sums of all steps."""
    models = [training.network(given) for _ in range(n)]
    optimizers = [training.optimizer(model, setting) for model in models]
    data = [list(training.data(given, r)) for r in range(n)]
    rows = []
    for step in range(training.STEPS):
        starts = [p.detach().clone() for p in models[0].parameters()]
        for model, opt, (xs, ys) in zip(models, optimizers, data):
            opt.zero_grad()
            (model(xs[step % training.BATCHES]) - ys[step % training.BATCHES]).square().mean().backward()
            opt.step()
        with torch.no_grad():
            for start, *parameters in zip(starts, *(model.parameters() for model in models)):
                steps = [(p - start).flatten().double().numpy() for p in parameters]
                joined = start + torch.from_numpy(adasum(steps)).float().reshape(start.shape)
                for p in parameters:
                    p.copy_(joined)
        rows.append(training.flat(models[0]))
    return np.stack(rows)


def main():
    comparison = jobs.Comparison()
    for n in (2, 3, 4):
        with tempfile.TemporaryDirectory() as folder:
            (given, kiln) = (Path(folder) / each for each in ("given", "kiln"))
            given.mkdir()
            kiln.mkdir()
            asked = {name: case for name, case in cases.collectives(n).items() if case.get("op") == "adasum"}
            cases.write(asked, given)
            training.write(n, given)
            jobs.run_kiln(n, "collectives.kiln", given, kiln)
            jobs.run_kiln(n, "training.kiln", given, kiln)
            for (name, r), (got,) in cases.results(asked, kiln, n).items():
                wanted = adasum([each[0].astype(np.float64) for each in asked[name]["inputs"]]).astype(got.dtype)
                comparison.check(f"{name}, rank {r} of {n}", got, wanted, cases.tolerance_of(asked[name]))
            for name in ("adasum", "adasum_adam"):
                wanted = train(training.SETTINGS[name], given, n)
                for r in range(n):
                    comparison.check(f"training {name}, rank {r} of {n}", np.load(kiln / f"{name}.{r}.npy"), wanted, 1e-5)
    comparison.finish()


if __name__ == "__main__":
    main()
