"""Programs that fail, and wrong usage: words and exit codes."""

import json
import os
import subprocess
import unittest

from process_cases import support
from process_cases.support import environment, kiln, write


class Failing(unittest.TestCase):
    def fails(self, code, words, *arguments, **more):
        actual, out, err = kiln(*arguments, **more)
        self.assertEqual(actual, code, err)
        self.assertIn(words, err)
        return out

    def test_uncaught_error(self):
        write("e.kiln", "print(1)\nx = nobody\n")
        self.assertEqual(self.fails(1, "e.kiln:2:5", "e.kiln"), "1\n")

    def test_syntax_error(self):
        write("bad.kiln", "x = (1,\n")
        self.fails(2, "SyntaxError", "bad.kiln")
        self.fails(2, "SyntaxError", "-e", "1 +* 2")

    def test_syntax_error_in_an_import_is_an_error_of_the_program(self):
        write("worse.kiln", "x = = 1\n")
        write("imports.kiln", "print(\"begun\")\nimport \"./worse.kiln\" as w\n")
        code, out, err = kiln("imports.kiln")
        self.assertIn("SyntaxError", err)
        self.assertIn(code, (1, 2))

    def test_scripts_that_are_no_scripts(self):
        self.fails(2, "there is no such file", "missing.kiln")
        self.fails(2, "it is a directory", ".")
        write("binary.kiln", b"\x7fELF\0\0\1")
        self.fails(2, "it is not text", "binary.kiln")
        path = write("closed.kiln", "print(1)\n")
        os.chmod(path, 0)
        if os.geteuid() != 0:
            self.fails(2, "permission denied", "closed.kiln")
        os.chmod(path, 0o600)

    def test_invalid_utf8(self):
        write("latin.kiln", b"x = 'caf\xe9'\n")
        self.fails(2, "UTF-8", "latin.kiln")

    def test_wrong_usage(self):
        self.fails(2, "did you mean `--json`?", "--jsn")
        self.fails(2, "needs a value", "-e")
        self.fails(2, "`--threads`", "--threads", "none")
        self.fails(2, "kiln check", "chekc", "a.kiln")
        self.fails(1, "DeviceError", "--device", "moon", "-e", "1")

    def test_a_device_without_a_driver(self):
        for arguments in (("--device", "cuda", "-e", "1"), ("-e", 'device("cuda")'), ("-e", "ones(2).cuda()")):
            self.fails(1, "help: name another file by KILN_CUDA_DRIVER, or unset it", *arguments,
                       KILN_CUDA_DRIVER="/no/such/driver")

    def test_nothing_of_cuda_is_linked(self):
        linked = subprocess.run(["ldd", support.KILN], stdout=subprocess.PIPE, timeout=60).stdout.decode()
        self.assertIn("libc.so", linked)
        self.assertNotRegex(linked, "libcuda|libnvrtc|libcublas|libcudart")

    def test_exit_codes_of_programs(self):
        self.assertEqual(kiln("-e", "exit(5)")[0], 5)
        self.assertEqual(kiln("-e", "try { exit(6) } catch err { print(err) }"), (6, "", ""))

    def test_json(self):
        code, _, err = kiln("--json", "-e", "x = 1\nnobody + x")
        self.assertEqual(code, 1)
        self.assertEqual(len(err.splitlines()), 1)
        found = json.loads(err)
        self.assertEqual((found["kind"], found["line"], found["column"]), ("NameError", 2, 1))

    def test_results_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([support.KILN, "-e", "1"], stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write the results", result.stderr)

    def test_a_reader_that_goes_away_is_no_error(self):
        script = f"{support.KILN} -e 'for i in range(1000000) {{ print(i) }}' | head -1; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, env=environment(), timeout=60)
        self.assertEqual(result.stderr, b"")
        self.assertEqual(result.stdout.split(b"\n")[:2], [b"0", b"141"])
