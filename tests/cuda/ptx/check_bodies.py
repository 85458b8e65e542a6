#!/usr/bin/env python3
"""Checks that the bodies of elementwise rows give the CPU's bits when NVRTC compiles them: the PTX runs on the CPU.

    check_bodies.py [--architecture compute_80] [--keep made] cuda_bodies compiler root [folder…]

`cuda_bodies` is the program that writes the CUDA C++ and compares, `compiler` one for C++, `root` the folder that includes are
below, each `folder` a place where NVRTC may be. Skipped, with a sentence, where there is none. `made` keeps what is made."""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import nvrtc  # noqa: E402
import rounding  # noqa: E402
import translate  # noqa: E402


def text_in(file, program, text):
    return text if Path(file).name == program else Path(file).read_text()


def build(library, arguments, source):
    """A library of the kernels of a program; gives what is wrong with its PTX."""
    options = [*nvrtc.OPTIONS, f"-I{arguments.root}"]
    text = source.read_text()
    ptx = library.compile_to_ptx(text, source.name, arguments.architecture, options)
    source.with_suffix(".ptx").write_text(ptx)
    faults = [f"{source.name}: {fault}" for fault in rounding.rounding_faults(ptx, lambda file: text_in(file, source.name, text))]
    translated = source.with_suffix(".cpp")
    translated.write_text(translate.translate(ptx))
    command = [arguments.compiler, *translate.CXX_OPTIONS, f"-I{arguments.root}", str(translated), "-o", str(source.with_suffix(".so"))]
    subprocess.run(command, check=True)
    return faults


def check(library, arguments, made):
    subprocess.run([arguments.program, "sources", made], check=True)
    sources = sorted(Path(made).glob("*.cu"), key=lambda path: int(path.stem))
    begun = time.monotonic()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        faults = [fault for found in pool.map(lambda source: build(library, arguments, source), sources) for fault in found]
    print(f"{len(sources)} programs by NVRTC {library.version_text()} ({library.path}) in {time.monotonic() - begun:.0f} s", flush=True)
    for fault in faults:
        print("a result that depends on more than its operands:", fault)
    compared = subprocess.run([arguments.program, "compare", made])
    return 1 if faults or compared.returncode != 0 or not sources else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--architecture", default="compute_80")
    parser.add_argument("--keep")
    for name in ("program", "compiler", "root"):
        parser.add_argument(name)
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    library, why = nvrtc.usable(arguments.folders)
    if library is None:
        print(why)
        return nvrtc.SKIPPED
    if arguments.keep:
        Path(arguments.keep).mkdir(parents=True, exist_ok=True)
        return check(library, arguments, arguments.keep)
    with tempfile.TemporaryDirectory() as made:
        return check(library, arguments, made)


if __name__ == "__main__":
    sys.exit(main())
