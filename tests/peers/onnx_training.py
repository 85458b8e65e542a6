#!/usr/bin/env python3
"""Trains a small convolutional network in ONNX Runtime by the step that Kiln exports: the losses of 20 steps are Kiln's.

The step holds the forward graph, its gradients, momentum, the statistics of batch norm, and dropout, whose numbers are
Kiln's, too. What it writes to `x` comes out as `x.updated` and goes in again as `x`.
"""
# Environment: onnx
import os
import subprocess
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime

KILN = os.environ["KILN"]
PROGRAM = Path(__file__).resolve().parent / "programs" / "onnx_training.kiln"
TOLERANCE = 1e-4
onnxruntime.set_default_logger_severity(3)


def losses_of(model, batches):
    """What the runtime gives as the first output, step by step."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    defaults = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    state = {each.name: defaults[each.name] for each in model.graph.input if each.name in defaults}
    arguments = [each.name for each in model.graph.input if each.name not in defaults]
    outputs = [each.name for each in model.graph.output]
    losses = []
    for batch in batches:
        results = dict(zip(outputs, session.run(outputs, state | dict(zip(arguments, batch)))))
        losses.append(float(results[outputs[0]]))
        written = {name.removesuffix(".updated"): value for name, value in results.items() if name.endswith(".updated")}
        assert written, "the step writes nothing"
        state |= written
        if "draw" in state:
            state["draw"] = numpy.asarray(state["draw"] + 1)  # dropout draws once in a step
    return losses


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([KILN, PROGRAM, folder], check=True)
        for file in ("step.onnx", "joint.onnx"):
            onnx.checker.check_model(onnx.load(folder / file), full_check=True)
        batches = numpy.load(folder / "batches.npz")
        wanted = numpy.load(folder / "losses.npz")["losses"]
        got = numpy.array(losses_of(onnx.load(folder / "step.onnx"), zip(batches["x"], batches["y"])))
    worst = numpy.abs(got - wanted).max() / numpy.abs(wanted).max()
    print(f"{len(wanted)} steps: losses {wanted[0]:.4f} to {wanted[-1]:.4f}, which differ by {worst:.1e} of the largest")
    assert len(wanted) == 20 and worst <= TOLERANCE, f"Kiln {wanted}\nONNX Runtime {got}"


main()
