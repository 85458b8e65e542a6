"""The real binary from outside: streams, exit codes, signals, colour. Usage: process.py path/to/kiln path/to/no_compiler"""

import os
import sys
import tempfile
import unittest

from process_cases import support
from process_cases.failing import *
from process_cases.files import *
from process_cases.interrupting import *
from process_cases.models import *
from process_cases.ranks import *
from process_cases.running import *
from process_cases.terminal import *
from process_cases.tools import *
from process_cases.traces import *

if __name__ == "__main__":
    support.KILN = os.path.abspath(sys.argv.pop(1))
    support.NO_COMPILER = os.path.abspath(sys.argv.pop(1))
    with tempfile.TemporaryDirectory() as support.FOLDER:
        unittest.main(verbosity=1)
