"""Progress bars beside all that is written meanwhile, in a real terminal (tmux). Usage: progress.py path/to/kiln
Exits with 77 (skipped) when there is no tmux."""

import re
import shutil
import tempfile
import unittest

from terminal import Terminal


def bar(done, total, description=""):
    share = re.escape(f"{100 * done // total:3d}%|") + "[█▏▎▍▌▋▊▉ ]+"
    return f"{description}{share}" + re.escape(f"| {done}/{total} ") + r"\d\d:\d\d<\S+ [\d.]+(/s| s each)"


class Bars(unittest.TestCase):
    def shown(self, program, width=70, keys=None):
        """The lines on the screen when the program has ended."""
        home = tempfile.mkdtemp()
        try:
            with open(home + "/program.kiln", "w") as file:
                file.write(program)
            terminal = Terminal(home, home + "/program.kiln", width=width)
            try:
                if keys:
                    terminal.wait("%|")
                    terminal.keys(keys)
                screen = terminal.wait("left with")
            finally:
                terminal.close()
        finally:
            shutil.rmtree(home)
        return screen[:screen.index("left with")].rstrip("\n").split("\n")

    def check(self, lines, *patterns):
        self.assertEqual(len(lines), len(patterns), "\n".join(lines))
        for line, pattern in zip(lines, patterns):
            self.assertRegex(line, f"^(?:{pattern})$", "\n".join(lines))

    def test_prints_stand_above_the_bar(self):
        lines = self.shown('for i in progress(range(3), desc="a") { print("line", i); sleep(0.12) }\nprint("done")')
        self.check(lines, "line 0", "line 1", "line 2", bar(3, 3, "a: "), "done")

    def test_errors_and_warnings_too(self):
        lines = self.shown('for i in progress(range(3)) { print("e", i, file="stderr"); sleep(0.12) }')
        self.check(lines, "e 0", "e 1", "e 2", bar(3, 3))
        lines = self.shown("for i in progress(range(4)) { sleep(0.12); if i == 2 { ones(2) @ ones(3) } }")
        self.assertRegex(lines[0], bar(2, 4))
        self.assertTrue(lines[1].startswith("ShapeError: "), lines)

    def test_a_line_is_ended_before_the_bar_comes_back(self):
        lines = self.shown('for i in progress(range(3)) { print(i, end=","); sleep(0.12) }\nprint("done")')
        self.check(lines, "0,1,2,", bar(3, 3), "done")

    def test_nested_bars_stand_below_each_other(self):
        lines = self.shown('for i in progress(range(2), desc="outer") {\n'
                           '  for j in progress(range(2), desc="inner") { print(i, j); sleep(0.12) }\n}\nprint("done")')
        self.check(lines, "0 0", "0 1", "1 0", "1 1", bar(2, 2, "outer: "), "done")

    def test_a_loop_that_is_left_leaves_its_bar(self):
        lines = self.shown('for i in progress(range(9)) { sleep(0.12); if i == 2 { break } }\nprint("after")')
        self.check(lines, bar(2, 9), "after")
        lines = self.shown('try { for i in progress(range(9)) { sleep(0.12); if i == 2 { 1 / 0 } } } catch err { print(err.kind) }\n'
                           'print("after")')
        self.check(lines, bar(2, 9), "ValueError", "after")

    def test_ctrl_c_leaves_it_whole(self):
        lines = self.shown("for i in progress(range(1000)) { sleep(0.02) }", keys="C-c")
        self.assertRegex(lines[0], r"^ +\d+%\|")
        self.assertTrue(lines[1].startswith("Interrupted: stopped"), lines)

    def test_a_narrow_terminal_shows_less_of_the_line(self):
        lines = self.shown('for i in progress(range(3), desc="a name") { print(i); sleep(0.12) }\nprint("done")', width=24)
        self.check(lines, "0", "1", "2", re.escape("a name: 100% 3/3"), "done")
        lines = self.shown('for i in progress(range(3), desc="学习学习学习学习") { sleep(0.12) }\nprint("done")', width=12)
        self.check(lines, "学习学习学", "done")


if __name__ == "__main__":
    unittest.main()
