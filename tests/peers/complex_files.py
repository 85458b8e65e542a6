#!/usr/bin/env python3
"""Complex numbers beside NumPy: files of both, and how tensors and numbers are computed with and read."""
# Environment: onnx
import os
import subprocess
import tempfile
from pathlib import Path

import numpy

KILN = os.environ["KILN"]
PROGRAM = """
x = load(args[0] + "/x.npz")
save(args[0] + "/back.npz", x)
(a, b) = (x["a"], x["b"])
save(args[0] + "/made.npz", {
  "sum": a + b, "product": a * b, "quotient": a / b, "scaled": a * 2j, "power": a ** 2, "conj": a.conj(), "abs": a.abs(),
  "angle": a.angle(), "total": a.sum(), "matrix": a.view(10, 10) @ b.view(10, 10), "real": a.real, "imag": a.imag,
})
for z in a[:20].tolist() { print(repr(z)) }
for z in a[:20].tolist() { print(z * (1-2j) / 3j ** 2 + 1) }
"""


def main():
    random = numpy.random.default_rng(5)
    wide = [(random.standard_normal(100) + 1j * random.standard_normal(100)) for _ in range(2)]
    for dtype, allowed in ((numpy.complex64, 2e-6), (numpy.complex128, 4e-15)):
        a, b = (each.astype(dtype) for each in wide)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            given = {"a": a, "b": b, "big": a.astype(a.dtype.newbyteorder(">")), "turned": numpy.asfortranarray(a.reshape(20, 5))}
            numpy.savez(folder / "x.npz", **given)
            (folder / "program.kiln").write_text(PROGRAM)
            ran = subprocess.run([KILN, folder / "program.kiln", folder], check=True, capture_output=True, text=True)
            back = numpy.load(folder / "back.npz")
            for key, value in given.items():
                assert back[key].dtype == dtype and back[key].tobytes() == value.astype(dtype).tobytes(), key
            made = numpy.load(folder / "made.npz")
            wanted = {
                "sum": a + b, "product": a * b, "quotient": a / b, "scaled": a * 2j, "power": a**2, "conj": a.conj(), "abs": abs(a),
                "angle": numpy.angle(a), "total": a.sum(), "matrix": a.reshape(10, 10) @ b.reshape(10, 10), "real": a.real, "imag": a.imag,
            }  # fmt: skip
            for key, value in wanted.items():
                assert made[key].dtype == numpy.asarray(value).dtype, (key, made[key].dtype)
                error = numpy.linalg.norm(made[key] - value) / numpy.linalg.norm(value)
                assert error < allowed, (key, error)
            lines = ran.stdout.split("\n")
            numbers = a[:20].tolist()
            assert lines[:20] == [repr(each) for each in numbers], lines[:20]
            assert lines[20:40] == [repr(each * (1 - 2j) / 3j**2 + 1) for each in numbers], lines[20:40]
    print("files, values and texts are NumPy's")


main()
