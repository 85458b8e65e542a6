"""The tools beside running: fmt, check, test, report."""

import json
import os
import stat
import subprocess
import unittest

from process_cases import support
from process_cases.support import environment, kiln, write


class Tools(unittest.TestCase):
    def test_format(self):
        path = write("ugly.kiln", "x=1   # note\n")
        self.assertEqual(kiln("fmt", "--check", "ugly.kiln"), (1, "ugly.kiln\n", ""))
        self.assertEqual(kiln("fmt", "ugly.kiln"), (0, "", ""))
        with open(path) as file:
            self.assertIn("x = 1", file.read())
        self.assertEqual(kiln("fmt", "--check", "ugly.kiln"), (0, "", ""))
        self.assertEqual(kiln("fmt", "-", stdin="x=1\n"), (0, "x = 1\n", ""))

    def test_format_keeps_the_mode_and_broken_files(self):
        path = write("tool.kiln", "x=1\n")
        os.chmod(path, 0o754)
        kiln("fmt", "tool.kiln")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o754)
        broken = write("broken.kiln", "x=(\n")
        self.assertEqual(kiln("fmt", "broken.kiln")[0], 2)
        with open(broken) as file:
            self.assertEqual(file.read(), "x=(\n")

    def test_check(self):
        write("ok.kiln", "x = 1\nprint(x)\n")
        write("names.kiln", "print(undefined_thing)\nfn f() = also_missing\n")
        write("broken.kiln", "x = (\n")
        self.assertEqual(kiln("check", "ok.kiln"), (0, "", ""))
        code, out, err = kiln("check", "ok.kiln", "names.kiln")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("names.kiln:1:7", err)
        self.assertIn("also_missing", err)
        code, _, err = kiln("check", "broken.kiln", "names.kiln", "missing.kiln")
        self.assertEqual(code, 2)
        self.assertIn("undefined_thing", err)
        self.assertIn("no such file", err)

    def test_check_as_json_has_fixes(self):
        write("fixable.kiln", "x = ones(3)\ny = reluu(x)\nz = x @ ones(4)\n")
        code, out, err = kiln("check", "--json", "fixable.kiln")
        self.assertEqual((code, out), (1, ""))
        first, second = [json.loads(line) for line in err.splitlines()]
        self.assertEqual(first["fix"], {"file": "fixable.kiln", "line": 2, "column": 5, "end_line": 2, "end_column": 10, "text": "relu"})
        self.assertNotIn("fix", second)

    def test_report(self):
        write("reported.kiln", "@jit fn f(x) { return (x * 2 + 1).relu() }\nstruct S { @jit fn g(self, x) = x.sin() }\n"
              "f(ones(4)); f(ones(4)); f(ones(2, 2)); S().g(ones(3)); print(args)\n")
        self.assertEqual(kiln("report", "-o", "page.html", "reported.kiln", "a"), (0, "['a']\nwrote page.html\n", ""))
        with open(support.FOLDER + "/page.html") as file:
            page = file.read()
        for text in ("<h2>f</h2>", "<h2>S.g</h2>", "x is f32[4]", "relu", "reported.kiln:1", "1 hit,"):
            self.assertIn(text, page)
        self.assertEqual(kiln("report")[0], 2)
        code, out, err = kiln("report", "-o", "missing/page.html", "reported.kiln")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot write 'missing/page.html'", err)
        self.assertEqual(kiln("report", "no_such.kiln")[0], 2)

    def test_folders(self):
        os.makedirs(support.FOLDER + "/tree/deep/.hidden", exist_ok=True)
        for name in ("a", "deep/b", "deep/.hidden/c"):
            write(f"tree/{name}.kiln", "x=1\n")
        os.symlink("..", support.FOLDER + "/tree/deep/up")
        self.assertEqual(kiln("fmt", "--check", "tree"), (1, "tree/a.kiln\ntree/deep/b.kiln\n", ""))
        self.assertEqual(kiln("check", "tree"), (0, "", ""))

    def test_a_folder_that_is_too_much_is_left_alone(self):
        path = write("loose.kiln", "x=1\n")
        for tool in ("fmt", "check", "test"):
            code, out, err = kiln(tool, "loose.kiln", "/")
            self.assertEqual((code, out), (2, ""))
            self.assertIn("`/` holds more than 10000 files and folders; nothing was done", err)
        with open(path) as file:
            self.assertEqual(file.read(), "x=1\n")
        self.assertIn("10000", kiln("fmt", "--help")[1])

    def test_a_folder_that_cannot_be_read_is_told(self):
        os.makedirs(support.FOLDER + "/some/closed", exist_ok=True)
        write("some/z.kiln", "print(undefined_thing)\n")
        os.chmod(support.FOLDER + "/some/closed", 0)
        os.chmod(support.FOLDER, 0o755)
        # Root may read all.
        user = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        try:
            result = subprocess.run([support.KILN, "check", "some"], capture_output=True, env=environment(), cwd=support.FOLDER, timeout=60, **user)
        except PermissionError:
            self.skipTest("another user may not run the command")
        finally:
            os.chmod(support.FOLDER + "/some/closed", 0o700)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot read the folder 'some/closed': Permission denied", result.stderr)
        self.assertIn(b"undefined_thing", result.stderr)

    def test_tests(self):
        write("t.kiln", """## Doubles.
## >>> double(2)
## 4
fn double(x) = x * 2
fn test_double() { assert double(3) == 6 }
fn helper() { assert false }
""")
        code, out, err = kiln("test", "t.kiln")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("2 passed, 0 failed", out)
        write("u.kiln", """## >>> wrong(2)
## 5
fn wrong(x) = x * 2
fn test_wrong() { assert wrong(1) == 3, "not three" }
""")
        code, out, _ = kiln("test", "t.kiln", "u.kiln")
        self.assertEqual(code, 1)
        self.assertIn("2 passed, 2 failed", out)
        self.assertIn("not three", out)
