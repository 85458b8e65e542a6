#!/usr/bin/env python3
"""Runs the comparisons with other programs: tests/peers/run_all.py [NAME...]

Each tests/peers/NAME.py is one, run by the Python of build/peers/ENVIRONMENT, which `scripts/peers` makes. The environment
is called NAME, unless a line `# Environment: OTHER` says otherwise. A comparison gets the path of Kiln as KILN in its
environment. It is skipped where its environment is missing, or when it exits with 77 after a sentence that says why.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77


def environment_of(program):
    stated = re.search(r"^# Environment: (\w+)$", program.read_text(), re.MULTILINE)
    return stated[1] if stated else program.stem


def reason_of(folder):
    """Why there is no environment: the last line of what making it wrote."""
    log = folder.with_suffix(".log")
    lines = log.read_text().splitlines() if log.exists() else []
    return f"build/peers/{folder.name} could not be made: {lines[-1]}" if lines else f"scripts/peers makes build/peers/{folder.name}"


def run(program):
    """Gives "passed", "failed" or "skipped", and says so."""
    folder = ROOT / "build" / "peers" / environment_of(program)
    if not (folder / "description").exists():
        print(f"{program.name}: skipped, {reason_of(folder)}")
        return "skipped"
    environment = dict(os.environ)
    environment.setdefault("KILN", str(ROOT / "build" / "kiln"))
    done = subprocess.run([folder / "bin" / "python", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    result = {0: "passed", SKIPPED: "skipped"}.get(done.returncode, "failed")
    print(f"{program.name}: {result}\n{done.stdout}", end="", flush=True)
    return result


def main():
    programs = [each for each in sorted(HERE.glob("*.py")) if each != Path(__file__).resolve()]
    unknown = set(sys.argv[1:]) - {each.stem for each in programs}
    if unknown:
        raise SystemExit(f"run_all.py: there is no tests/peers/{min(unknown)}.py")
    results = [run(each) for each in programs if not sys.argv[1:] or each.stem in sys.argv[1:]]
    counts = {kind: results.count(kind) for kind in ("passed", "failed", "skipped")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    raise SystemExit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
