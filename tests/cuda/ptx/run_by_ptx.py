#!/usr/bin/env python3
"""Runs a test on the fake card so that what NVRTC makes of its kernels is what runs (KILN_FAKE_PTX).

    run_by_ptx.py [--look-in folder]… program [argument…]

`folder` is a place where NVRTC may be. Skipped, with a sentence, where there is none."""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import nvrtc  # noqa: E402


def file_of(library):
    """The file that is open: what another one compiled is not taken for its work."""
    mapped = re.findall(r"/\S*libnvrtc\.so\S*", Path("/proc/self/maps").read_text())
    return mapped[0] if mapped else library.path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--look-in", action="append", default=[])
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    library, why = nvrtc.usable([folder for folder in given.look_in if folder])
    if library is None:
        print(why)
        return nvrtc.SKIPPED
    file = file_of(library)
    print(f"kernels run by the PTX of NVRTC {library.version_text()} ({file})", flush=True)
    return subprocess.run([given.program, *given.arguments], env={**os.environ, "KILN_FAKE_PTX": file}).returncode


if __name__ == "__main__":
    sys.exit(main())
