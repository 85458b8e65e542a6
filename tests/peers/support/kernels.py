"""The kernel for Jupyter as comparisons use it: that beside Kiln."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "notebook"))

from served import Place, Served, text_of  # noqa: E402, F401

KILN = os.environ.get("KILN", str(ROOT / "build" / "kiln"))


def kernel_program():
    """The path of the kernel; ends the comparison as skipped where it is not built."""
    program = Path(KILN).parent / "kiln-kernel"
    if not program.exists():
        print("kiln-kernel is not built: xeus-dev is not installed")
        sys.exit(77)
    return str(program)
