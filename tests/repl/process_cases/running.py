"""Programs that run: what they print and where from."""

import os
import stat
import subprocess
import tempfile
import unittest

from process_cases import support
from process_cases.support import environment, kiln, write


class Running(unittest.TestCase):
    def test_code_prints_its_last_expression(self):
        self.assertEqual(kiln("-e", "x = 20\nx + 1"), (0, "21\n", ""))
        self.assertEqual(kiln("-e", "1;"), (0, "", ""))
        self.assertEqual(kiln("-e", "print(1)"), (0, "1\n", ""))
        self.assertEqual(kiln("-e", "x = 1", "-e", "x + 1"), (0, "2\n", ""))

    def test_compiled_kernels_are_kept_where_xdg_says(self):
        with tempfile.TemporaryDirectory() as folder:
            program = "print(jit(x => x.exp() + 1)(zeros(3)).tolist())"
            kernels = os.path.join(folder, "kiln", "kernels")
            for _ in range(2):
                self.assertEqual(kiln("-e", program, XDG_CACHE_HOME=folder), (0, "[2.0, 2.0, 2.0]\n", ""))
                self.assertEqual(len(os.listdir(kernels)), 1)
            path = os.path.join(kernels, os.listdir(kernels)[0])
            for private in (path, kernels + ".key"):
                self.assertEqual(stat.S_IMODE(os.stat(private).st_mode), 0o600)
            with open(path, "rb") as file:
                good = file.read()
            for damaged in (b"", b"kilncod1", b"kilncod2", good[:-1]):
                with open(path, "wb") as file:
                    file.write(damaged)
                self.assertEqual(kiln("-e", program, XDG_CACHE_HOME=folder), (0, "[2.0, 2.0, 2.0]\n", ""))
            self.assertEqual(kiln("-e", "1 + 1", XDG_CACHE_HOME=folder + "/other"), (0, "2\n", ""))
            self.assertFalse(os.path.exists(folder + "/other"))
            self.assertEqual(kiln("-e", program, XDG_CACHE_HOME="/dev/null"), (0, "[2.0, 2.0, 2.0]\n", ""))

    def test_a_compiler_that_is_not_there_is_told_once(self):
        program = """
f = jit((x, w) => (x @ w).relu().exp() * 2 + 1)
g = jit(x => x.sin().sum() - x.cos().mean())
w = (arange(12.).reshape(3, 4) * 0.1).requires_grad_()
for _ in range(3) { w.grad = none; y = f(ones(2, 3), w); y.sum().backward(); print(y.sum().item(), w.grad.sum().item(), g(w.detach()).item()) }
"""
        with tempfile.TemporaryDirectory() as folder:
            # A runtime that has to be the first to be loaded would complain.
            without = {"XDG_CACHE_HOME": folder, "LD_PRELOAD": support.NO_COMPILER, "ASAN_OPTIONS": "verify_asan_link_order=0"}
            code, out, err = kiln("--no-hot", "-e", program, **without)
            expected = kiln("--no-hot", "-e", program.replace("jit(", "eager("))
            self.assertEqual((code, out, ""), expected)
            self.assertEqual(err.count("warning: kernels are not compiled: kernels cannot be compiled: libkiln_llvm.so"), 1, err)
            self.assertEqual(len(err.splitlines()), 1, err)
            code, out, err = kiln(stdin=":loops (x => x.exp() + 1)(ones(3))\n:asm (x => x.exp() + 1)(ones(3))\n1 + 1\n", **without)
            self.assertIn("r1 = exp r0 : f32", out)
            self.assertTrue(out.endswith("}\nat most 12 B of tensors at once beside the arguments\n2\n"), out)
            self.assertIn("CaptureError: kernels cannot be compiled: libkiln_llvm.so", err)
            self.assertNotIn("InternalError", err)

    def test_checked_calls_that_differ_are_an_error(self):
        text = "f = jit(x => x.exp() + 1, backend={})\nf(ones(2)); f(ones(2))"
        self.assertEqual(kiln("--check", "-e", text.format('"fused"') + ";"), (0, "", ""))
        code, out, err = kiln("--check", "-e", text.format("g => (x => g(x) * 2)") + ";")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("check: main gives something else compiled than in the interpreter: result 1", err)
        self.assertIn("print(check(g, x0, backend=", err)

    def test_script_prints_only_what_it_prints(self):
        write("a.kiln", "1 + 1\nprint(args)\n")
        self.assertEqual(kiln("a.kiln", "x", "--json"), (0, "['x', '--json']\n", ""))

    def test_shebang(self):
        path = write("s.kiln", f"#!/usr/bin/env -S {support.KILN}\nprint(\"ran\", len(args))\n")
        os.chmod(path, 0o755)
        result = subprocess.run([path, "one"], capture_output=True, env=environment(), timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, b"ran 1\n"))

    def test_standard_input_as_script(self):
        self.assertEqual(kiln("-", "a", stdin="1 + 1\nprint(args)\n"), (0, "['a']\n", ""))

    def test_script_from_a_pipe_file(self):
        result = subprocess.run(["bash", "-c", f"{support.KILN} <(echo 'print(6 * 7)')"], capture_output=True,
                                env=environment(), timeout=60)
        self.assertEqual(result.stdout, b"42\n")

    def test_piped_entries_print_their_values(self):
        code, out, err = kiln(stdin="x = 2\nx * 3\nif x > 5 {\n  print(\"a\")\n}\nelse {\n  print(\"b\")\n}\n:quit\n")
        self.assertEqual((code, out, err), (0, "6\nb\n", ""))

    def test_piped_entries_go_on_after_an_error(self):
        code, out, err = kiln(stdin="x = 2\nnobody\nx\n")
        self.assertEqual((code, out), (1, "2\n"))
        self.assertIn("NameError", err)

    def test_piped_entry_cut_off(self):
        code, out, err = kiln(stdin="fn f(x) {\n")
        self.assertEqual(code, 2)
        self.assertIn("SyntaxError", err)

    def test_prompt_after_a_script(self):
        write("b.kiln", "y = 4\n")
        self.assertEqual(kiln("-i", "b.kiln", stdin="y + 1\n"), (0, "5\n", ""))

    def test_init_file_runs_first(self):
        os.makedirs(support.FOLDER + "/config/kiln", exist_ok=True)
        write("config/kiln/init.kiln", "mine = 7\n")
        self.assertEqual(kiln(stdin="mine\n")[1], "7\n")
        self.assertIn("NameError", kiln("--no-init", stdin="mine\n")[2])
        self.assertIn("NameError", kiln("-e", "mine")[2])
        os.unlink(support.FOLDER + "/config/kiln/init.kiln")

    def test_imports_are_relative_to_the_script(self):
        os.makedirs(support.FOLDER + "/deep", exist_ok=True)
        write("deep/helper.kiln", "fn f() = 5\n")
        write("deep/main.kiln", "import \"./helper.kiln\" as helper\nprint(helper.f())\n")
        self.assertEqual(kiln("deep/main.kiln"), (0, "5\n", ""))

    def test_version_and_help(self):
        code, out, _ = kiln("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^kiln \d+\.\d+\.\d+\n$")
        code, out, _ = kiln("--help")
        self.assertEqual(code, 0)
        self.assertIn("kiln fmt", out)
