#!/usr/bin/env python3
"""Fourier transforms of all lengths up to 512 and of twenty large ones, beside NumPy's in double precision.

Errors beside the size of the whole result must be below 4e-7 * log2 n in f32.
"""
# Environment: onnx
import math
import os
import subprocess
import tempfile
from pathlib import Path

import numpy

KILN = os.environ["KILN"]
LARGE = [1000, 1009, 1023, 1024, 2187, 3000, 4096, 5040, 8191, 10007, 15625, 32768, 46656, 65536, 65537, 100000, 131072, 177147, 262144,
         300007]
LENGTHS = list(range(1, 513)) + LARGE
PROGRAM = """
import fft
x = load(args[0] + "/x.npy")
lengths = load(args[0] + "/lengths.npy").tolist()
results = {"complex": [], "inverse": [], "real": [], "back": []}
for n in lengths {
  z = view_as_complex(x[: 2 * n].view(n, 2))
  results["complex"].append(fft.fft(z))
  results["inverse"].append(fft.ifft(z))
  half = fft.rfft(x[:n])
  results["real"].append(half)
  results["back"].append(fft.irfft(half, n))
}
save(args[0] + "/results.npz", {name: cat(each) for name, each in results.items()})
"""


def worst_of(name, found, wanted_of):
    """Takes the results of one length after the other; gives the worst error, in units of what is allowed."""
    worst, at = 0.0, 0
    for n in LENGTHS:
        wanted = wanted_of(n)
        got = found[at:at + len(wanted)]
        at += len(wanted)
        error = numpy.linalg.norm(got - wanted) / numpy.linalg.norm(wanted)
        worst = max(worst, error / (4e-7 * max(1.0, math.log2(n))))
    assert at == len(found), name
    print(f"{name}: the worst error is {worst:.2f} of what is allowed")
    assert worst < 1, name


def main():
    x = numpy.random.default_rng(3).standard_normal(2 * max(LENGTHS)).astype(numpy.float32)
    pairs = x[0::2].astype(float) + 1j * x[1::2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numpy.save(folder / "x.npy", x)
        numpy.save(folder / "lengths.npy", numpy.array(LENGTHS))
        (folder / "program.kiln").write_text(PROGRAM)
        subprocess.run([KILN, folder / "program.kiln", folder], check=True)
        found = numpy.load(folder / "results.npz")
        real = x.astype(float)
        worst_of("complex", found["complex"], lambda n: numpy.fft.fft(pairs[:n]))
        worst_of("inverse", found["inverse"], lambda n: numpy.fft.ifft(pairs[:n]))
        worst_of("real", found["real"], lambda n: numpy.fft.rfft(real[:n]))
        worst_of("back", found["back"], lambda n: real[:n])


main()
