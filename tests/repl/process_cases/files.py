"""Files that programs write and read."""

import os
import subprocess
import tempfile
import time
import unittest

from process_cases import support
from process_cases.support import environment, kiln


class Files(unittest.TestCase):
    def test_a_path_ends_where_it_says(self):
        for call in ["save(\"victim\\u{0}.npy\", ones(3))", "load(\"victim\\u{0}.npy\")", "open(\"victim\\u{0}\", \"w\")",
                     "exists(\"victim\\u{0}\")", "listdir(\".\\u{0}\")", "mkdir(\"victim\\u{0}\")", "remove(\"victim\\u{0}\")",
                     "is_folder(\".\\u{0}\")", "import \"./victim\\u{0}.kiln\" as m", "env(\"HOME\\u{0}\")",
                     "plot([1, 2], file=\"victim\\u{0}.svg\")", "imshow(ones(2, 2), file=\"victim\\u{0}.png\")"]:
            code, out, err = kiln("-e", call)
            self.assertEqual((code, out), (1, ""), call)
            self.assertIn("ValueError", err, call)
            self.assertIn("NUL", err, call)
            self.assertFalse(os.path.exists(os.path.join(support.FOLDER, "victim")), call)

    def test_a_limit_of_files_is_an_error_of_the_write(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, value in (("x.npy", "zeros(100000)"), ("x.npz", "{\"a\": zeros(100000)}"), ("x.csv", "zeros(100000)"),
                                ("x.safetensors", "{\"a\": zeros(100000)}"), ("x.png", "rand(400, 400)")):
                program = f"try {{ save(\"{folder}/{name}\", {value}) }} catch err {{ print(err.kind, listdir(\"{folder}\")) }}"
                result = subprocess.run(["bash", "-c", f"ulimit -f 16; exec {support.KILN} -e '{program}'"], capture_output=True,
                                        env=environment(), cwd=folder, timeout=60)
                self.assertEqual((result.returncode, result.stdout), (0, b"IOError []\n"), (name, result.stderr))

    def test_what_a_killed_save_left_goes_with_the_next(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"x = zeros(30000000)\nprint(\"ready\", flush=true)\nwhile true {{ save(\"{folder}/x.npy\", x) }}"
            for _ in range(20):
                process = subprocess.Popen([support.KILN, "-e", program], stdout=subprocess.PIPE, env=environment())
                process.stdout.readline()
                while not any(name.endswith(".part") for name in os.listdir(folder)):
                    time.sleep(0.001)
                process.kill()
                process.communicate()
                if any(name.endswith(".part") for name in os.listdir(folder)):
                    break
            self.assertEqual(len([name for name in os.listdir(folder) if name.endswith(".part")]), 1)
            self.assertEqual(kiln("-e", f"save(\"{folder}/y.npy\", zeros(3))"), (0, "", ""))
            self.assertFalse([name for name in os.listdir(folder) if name.endswith(".part")])
