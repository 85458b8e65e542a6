#!/usr/bin/env python3
"""A model whose elements are in a file beside it is loaded by ONNX Runtime, from another folder than it was written to.

The checker of the package onnx takes it by its path, the runtime gives what Kiln computes, and every offset is that of a page.
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
PROGRAM = """
import nn
seed(2)
model = nn.Sequential(nn.Linear(300, 200), nn.ReLU(), nn.LayerNorm(200), nn.Linear(200, 3))
x = randn(4, 300)
export(model, [x], args[0] + "/model.onnx", external=true)
save(args[0] + "/data.npz", {"x": x, "y": model(x)})
"""


def main():
    with tempfile.TemporaryDirectory() as name:
        written, moved = Path(name) / "written", Path(name) / "moved"
        written.mkdir()
        (Path(name) / "program.kiln").write_text(PROGRAM)
        subprocess.run([KILN, Path(name) / "program.kiln", written], check=True)
        written.rename(moved)
        file = moved / "model.onnx"
        onnx.checker.check_model(file, full_check=True)
        tensors = onnx.load(file, load_external_data=False).graph.initializer
        offsets = [int(entry.value) for each in tensors for entry in each.external_data if entry.key == "offset"]
        assert len(offsets) == 2 and all(offset % 4096 == 0 for offset in offsets), offsets
        data = numpy.load(moved / "data.npz")
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        got = session.run(None, {session.get_inputs()[0].name: data["x"]})[0]
        worst = numpy.abs(got - data["y"]).max() / numpy.abs(data["y"]).max()
        print(f"{len(offsets)} of {len(tensors)} tensors are beside a model of {file.stat().st_size} bytes; results differ by {worst:.1e}")
        assert worst < 1e-5


main()
