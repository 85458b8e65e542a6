"""The programs that bench/run measures beside each other, and how one of them is run."""
import ctypes.util
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KILN = Path(os.environ.get("KILN", ROOT / "build" / "kiln"))


def python_with(module):
    """The Python that `scripts/peers` has made for a module, or else the one that runs this."""
    made = ROOT / "build" / "peers" / module
    return str(made / "bin" / "python") if (made / "description").exists() else sys.executable


@functools.cache
def importable(module):
    return subprocess.run([python_with(module), "-c", f"import {module}"], capture_output=True).returncode == 0


# Peer: file ending, command, how to tell that it is there.
PEERS = {
    "kiln": ("kiln", [str(KILN)], lambda: KILN.exists()),
    "kiln --no-hot": ("no_hot.kiln", [str(KILN), "--no-hot"], lambda: KILN.exists()),
    "kiln --trace": ("traced.kiln", [str(KILN), "--trace", "/dev/null"], lambda: KILN.exists()),
    "torch": ("torch.py", [python_with("torch")], lambda: importable("torch")),
    "torch.compile": ("compile.py", [python_with("torch")], lambda: importable("torch")),
    "horovod": ("horovod.py", [python_with("horovod")], lambda: importable("horovod")),
    "numpy": ("numpy.py", [python_with("numpy")], lambda: importable("numpy")),
    "jax": ("jax.py", [python_with("jax")], lambda: importable("jax")),
    "numba": ("numba.py", [python_with("numba")], lambda: importable("numba")),
    "fftw": ("fftw.py", [sys.executable], lambda: all(map(ctypes.util.find_library, ("fftw3f", "fftw3")))),
    "cpython": ("cpython.py", [sys.executable], lambda: True),
    "luajit -joff": ("lua", ["luajit", "-joff"], lambda: shutil.which("luajit") is not None),
}


def run_once(command, environment):
    """One process: its metrics {name: (seconds, check)}, with its own duration as `process`."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        own = dict(environment, XDG_CACHE_HOME=cache)  # nothing that was compiled before
        done = subprocess.run(command, capture_output=True, text=True, env=own, cwd=ROOT)
    elapsed = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    metrics = {"process": (elapsed, None)}
    for line in done.stdout.splitlines():
        found = re.match(r"(?:\[0\](?: |<stdout>:))?(\S+) ([0-9.e+-]+)(?: (\S+))?$", line)
        if found:
            metrics[found[1]] = (float(found[2]), found[3])
    return metrics


def version_of(peer):
    package = peer.split(".")[0]
    asked = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    try:
        return subprocess.run([python_with(package), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    except subprocess.CalledProcessError:
        return "%d.%d.%d" % sys.version_info[:3] if peer == "cpython" else ""
