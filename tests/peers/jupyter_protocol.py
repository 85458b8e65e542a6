#!/usr/bin/env python3
"""Jupyter's own test of kernels, jupyter_kernel_test, with every case but those of a pager and of `clear_output`, which
Kiln has not."""
# Environment: jupyter

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import jupyter_kernel_test  # noqa: E402
from support.kernels import Place, kernel_program  # noqa: E402


class KilnTests(jupyter_kernel_test.KernelTests):
    kernel_name = "kiln"
    language_name = "kiln"
    file_extension = ".kiln"
    code_hello_world = 'print("hello, world")'
    code_stderr = 'print("oops", file="stderr")'
    completion_samples = [
        {"text": "conv_transpose", "matches": {"conv_transpose1d", "conv_transpose2d"}},
        {"text": "\"ü\".startsw", "matches": {"startswith"}},
        {"text": ":stag", "matches": {"stages"}},
    ]
    complete_code_samples = ["1", 'print("hello, world")', "fn f(x) {\n  return x\n}", "if true { 1 }", ":help", "?relu", ""]
    incomplete_code_samples = ['print("""hello', "fn f(x) {", "x = [1,", "for i in range(3) {\n  i", "1 +", ":time f("]
    invalid_code_samples = ["1 +* 2", "x = = 1", "'7a"]
    code_generate_error = "nobody"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "6 * 7 + 1", "result": "43"},
        {"code": "\"text\"", "result": "'text'"},
        {"code": "zeros(2)", "result": "f32[2] cpu 8 B\n[0., 0.]"},
        {"code": "zeros(2)", "mime": "text/html"},
        {"code": "graph(cos, ones(2))", "mime": "image/svg+xml"},
    ]
    code_display_data = [
        {"code": "plot([0, 1, 4])", "mime": "image/png"},
        {"code": "plot([0, 1, 4])", "mime": "text/plain"},
        {"code": ":html cos(ones(2))", "mime": "text/html"},
        {"code": "for i in progress(range(3)) { }", "mime": "text/plain"},
    ]
    code_history_pattern = "6?\\* 7 + ?"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zeros"


def main():
    with Place(kernel_program()):
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(KilnTests)
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    skipped = {test.id().rsplit(".", 1)[-1] for test, _ in result.skipped}
    assert skipped == {"test_pager", "test_clear_output"}, skipped
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
