"""Several ranks by `kiln run`."""

import signal
import subprocess
import unittest

from process_cases import support
from process_cases.support import environment, kiln, write


class Ranks(unittest.TestCase):
    def test_a_program_runs_on_several_ranks(self):
        write("ranks.kiln", """import dist
dist.init()
total = dist.allreduce(tensor([1.0, float(dist.rank())]), op=dist.Sum)
print(dist.rank(), dist.size(), total.tolist(), args)
""")
        code, out, err = kiln("run", "-n", "3", "ranks.kiln", "a b")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), [f"[{r}] {r} 3 [3.0, 3.0] ['a b']" for r in range(3)])
        code, out, err = kiln("run", "-n", "2", "--hosts", "east:1,west:1", "--agent", "env HOST={host}", "ranks.kiln", "a b")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), [f"[{r}] {r} 2 [2.0, 1.0] ['a b']" for r in range(2)])
        self.assertEqual(kiln("ranks.kiln"), (0, "0 1 [1.0, 0.0] []\n", ""))

    def test_an_error_ends_all_ranks_and_is_told_once(self):
        write("wrong.kiln", "import dist\ndist.init()\nones(2) @ ones(3)\n")
        code, out, err = kiln("run", "-n", "2", "wrong.kiln")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err.count("ShapeError"), 1, err)
        self.assertTrue(err.endswith("kiln run: this error ended ranks 0 and 1\n"), err)
        write("one.kiln", "import dist\ndist.init()\nif dist.rank() == 1 { exit(4) }\nwhile true { dist.allreduce(ones(3)) }\n")
        code, out, err = kiln("run", "-n", "2", "one.kiln")
        self.assertEqual((code, out), (4, ""))
        self.assertIn("kiln run: rank 1 left with exit code 4", err)

    def test_all_ranks_evaluate_what_rank_0_reads(self):
        entries = """import dist
dist.init()
x = dist.allreduce(tensor([1.0 + dist.rank()]), op=dist.Sum)
x.item()
print("rank", dist.rank())
nothing
if dist.rank() == 1 { throw ValueError("only here") }
exit(5)
"""
        code, out, err = kiln("run", "-n", "2", stdin=entries)
        self.assertEqual(code, 5)
        self.assertEqual(sorted(out.splitlines()), ["3.0", "[1] rank 1", "rank 0"])
        self.assertEqual(err.count("NameError"), 1, err)
        self.assertIn("[1] ValueError: only here\n", err)

    def test_one_ctrl_c_ends_all_ranks(self):
        write("forever.kiln", "import dist\ndist.init()\nprint(\"ready\")\nwhile true { dist.allreduce(ones(3)) }\n")
        process = subprocess.Popen([support.KILN, "run", "-n", "2", "forever.kiln"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), cwd=support.FOLDER)
        self.assertEqual(sorted(process.stdout.readline() for _ in range(2)), [b"[0] ready\n", b"[1] ready\n"])
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (130, b""))
        self.assertEqual(err.count(b"Interrupted"), 1, err)

    def test_wrong_usage_of_run_is_told(self):
        for arguments, words in ((["ranks.kiln"], "needs the number of ranks"), (["-n", "0", "x"], "takes a number from 1 up"),
                                 (["-n", "2", "none.kiln"], "there is no file `none.kiln`"), (["-n", "2", "--host", "a"], "`--hosts`"),
                                 (["-n", "2", "-"], "standard input"), (["--elastic", "4:2", "x"], "fewest"),
                                 (["-n", "2", "fmt", "x"], "runs programs"), (["-n", "3", "--hosts", "a:2", "-e", "1"], "take 2 ranks, not 3")):
            code, out, err = kiln("run", *arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(words, err)
