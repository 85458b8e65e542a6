"""The prompt as a person meets it, in a real terminal (tmux). Usage: terminal.py path/to/kiln
Exits with 77 (skipped) when there is no tmux."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

KILN = os.path.abspath(sys.argv.pop(1))
if shutil.which("tmux") is None:
    sys.exit(77)


class Terminal:
    """A tmux server of its own with one window that runs kiln."""

    count = 0

    def __init__(self, home, *arguments, width=80, height=24, **changes):
        Terminal.count += 1
        self.socket = f"kiln-test-{os.getpid()}-{Terminal.count}"
        env = {**os.environ, "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config",
               "INPUTRC": home + "/inputrc", "LC_ALL": "C", **changes}
        env.pop("TMUX", None)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  "env " + " ".join(f"{k}='{v}'" for k, v in changes.items()) + f" {KILN} " + " ".join(arguments) +
                  "; echo left with $?; sleep 60", env=env)

    def tmux(self, *arguments, env=None):
        return subprocess.run(["tmux", "-u", "-L", self.socket, *arguments], env=env, check=True, capture_output=True,
                              timeout=60).stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)
        return self

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        return self

    def enter(self):
        """Ends a line and waits for the next prompt: what is typed before it is there, the terminal echoes."""
        self.keys("Enter")
        end = time.monotonic() + 5
        while time.monotonic() < end and self.screen().splitlines()[-1].strip() not in ("kiln>", "..."):
            time.sleep(0.02)
        return self

    def paste(self, text):
        subprocess.run(["tmux", "-L", self.socket, "load-buffer", "-"], input=text.encode(), check=True, timeout=60)
        self.tmux("paste-buffer", "-p", "-r")
        return self

    def screen(self, colours=False):
        text = self.tmux("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()

    def wait(self, text, colours=False, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.screen(colours)
            if text in shown:
                return shown
            time.sleep(0.02)
        raise AssertionError(f"{text!r} did not appear on:\n{self.screen(colours)}")

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, timeout=60)


class Prompt(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.settings = self.home + "/config/kiln/settings"
        self.terminal = None

    def tearDown(self):
        if self.terminal:
            self.terminal.close()
        shutil.rmtree(self.home)

    def start(self, *arguments, **more):
        """The prompt without numbers, unless the settings of the test say otherwise."""
        if not os.path.exists(self.settings):
            self.write_settings("numbers = off\n")
        return self.start_as_is(*arguments, **more)

    def start_as_is(self, *arguments, first="kiln>", **more):
        if self.terminal:
            self.terminal.close()
        self.terminal = Terminal(self.home, *arguments, **more)
        self.terminal.wait(first)
        return self.terminal

    def write_settings(self, text):
        os.makedirs(os.path.dirname(self.settings), exist_ok=True)
        with open(self.settings, "w") as file:
            file.write(text)

    def test_results_and_leaving(self):
        terminal = self.start()
        terminal.type("6 * 7").keys("Enter").wait("kiln> 6 * 7\n42\nkiln>")
        terminal.keys("C-d").wait("left with 0")

    def test_numbers_of_entries(self):
        terminal = self.start_as_is(first="kiln 1>")
        terminal.type("6 * 7").keys("Enter").wait("kiln 1> 6 * 7\n42\nkiln 2>")
        terminal.type("[_1,").keys("Enter").wait("kiln 2> [_1,\n    ...")
        terminal.type("_1]").keys("Enter")
        terminal.wait("kiln 2> [_1,\n    ...   _1]\n[42, 42]\nkiln 3>")
        terminal.paste("kiln 17> 1 +\n     ... 1\n").keys("Enter").wait("kiln 3> 1 +\n    ... 1\n2\nkiln 4>")
        terminal.type("nobody").keys("Enter").wait("--> <prompt:4>:1:1")

    def test_settings_last(self):
        terminal = self.start_as_is(first="kiln 1>")
        terminal.type(":set numbers off").keys("Enter").wait("numbers is off here and in later sessions\nkiln>")
        terminal.type("'a' * 30").keys("Enter").wait("a'\nkiln>")
        self.start_as_is(first="kiln>").type(":set reset").keys("Enter").wait("kiln> :set reset\nkiln 2>")
        self.write_settings("numbers = of\n")
        self.start_as_is(first="kiln 1>", width=120).wait("config/kiln/settings:1: `numbers` takes on or off, not `of`")
        self.write_settings("numbers = off\n")
        self.start_as_is("--no-init", first="kiln 1>")

    def test_quit_with_a_code(self):
        self.start().type("exit(3)").keys("Enter").wait("left with 3")

    def test_several_lines_with_indentation(self):
        terminal = self.start()
        terminal.type("fn f(x) {").enter().type("return x + 1").enter().type("}").enter()
        terminal.type("f(41)").keys("Enter")
        terminal.wait("kiln> fn f(x) {\n  ...   return x + 1\n  ... }\nkiln> f(41)\n42\nkiln>")

    def test_history_brings_back_whole_entries(self):
        terminal = self.start()
        terminal.type("fn g() {").enter().type("return 5").enter().type("}").keys("Enter")
        terminal.wait("  ... }\nkiln>")  # between two prompts the terminal keeps Ctrl-D to itself
        terminal.keys("C-d").wait("left with 0")
        terminal = self.start()
        terminal.keys("Up").wait("kiln> fn g() {\n  ...   return 5\n  ... }")
        terminal.enter().type("g()").keys("Enter").wait("kiln> g()\n5\nkiln>")
        self.assertEqual(os.stat(self.home + "/state/kiln/history").st_mode & 0o777, 0o600)

    def test_edit_opens_the_editor_and_runs_what_it_left(self):
        editor = self.home + "/editor"
        with open(editor, "w") as file:
            file.write("#!/bin/sh\nsleep 1.2\nsed -i 's/1/41/' \"$1\"\n")
        os.chmod(editor, 0o755)
        terminal = self.start(EDITOR=editor)
        terminal.type("1 + 1").keys("Enter").wait("2\nkiln>")
        terminal.type(":edit").keys("Enter").wait("kiln> :edit\n41 + 1\n42\nkiln>")
        self.assertNotIn("running", terminal.screen())

    def test_editing_an_earlier_line(self):
        terminal = self.start()
        terminal.type("x = [1,").enter().type("2]").keys("Up").keys("C-e").keys("BSpace").type(" + 1,")
        terminal.wait("kiln> x = [1 + 1,\n  ...   2]")
        terminal.keys("Down").keys("C-e").enter().type("x").keys("Enter").wait("[2, 2]\nkiln>")

    def test_searching_history(self):
        terminal = self.start()
        terminal.type("first = 1").enter().type("second = 2").keys("Enter").wait("kiln> second = 2\nkiln>")
        terminal.keys("C-r").type("fir").wait("(reverse-i-search)`fir': first = 1")
        terminal.enter().type("first + 1").keys("Enter").wait("kiln> first + 1\n2\nkiln>")

    def test_up_searches_for_what_is_typed(self):
        terminal = self.start()
        for entry in ("size = 1", "fn f(x) {\n  x\n}", "fn g() = 2", "other = 3"):
            terminal.paste(entry).enter()
        terminal.type("fn").keys("Up").wait("kiln> fn g() = 2")
        terminal.keys("Up").wait("kiln> fn f(x) {\n  ...   x\n  ... }")
        terminal.keys("Down").wait("other = 3\nkiln> fn g() = 2")
        terminal.keys("Down").type(" h() = 5").keys("Enter").wait("kiln> fn h() = 5\nkiln>")
        terminal.type("h()").keys("Enter").wait("\n5\nkiln>")
        terminal.keys("Up", "Up").wait("kiln> fn h() = 5")

    def test_the_hint_of_several_lines_shows_the_first(self):
        terminal = self.start()
        terminal.paste("fn f(x) {\n  return x + 41\n}").enter().type("fn").wait("kiln> fn f(x) { …")
        self.assertTrue(terminal.screen().endswith("kiln> fn f(x) { …"))
        terminal.keys("Right").enter().type("f(1)").keys("Enter").wait("kiln> f(1)\n42\nkiln>")

    def test_output_without_a_line_end_stays(self):
        terminal = self.start()
        terminal.type('print("begun", end="")').keys("Enter").wait('end="")\nbegun⏎\nkiln>')
        terminal.type("!printf 'of the system'").keys("Enter").wait("system'\nof the system⏎\nkiln>")
        terminal.type("1").keys("Enter").wait("kiln> 1\n1\nkiln>")

    def test_another_size_while_typing(self):
        terminal = self.start(width=60)
        terminal.type("'abcdefghijklmnopqrstuvwxyz'").wait("kiln> 'abcdefghijklmnopqrstuvwxyz'")
        terminal.tmux("resize-window", "-x", "20", "-y", "24")
        terminal.wait("kiln> 'abcdefghijklm\nnopqrstuvwxyz'")
        terminal.tmux("resize-window", "-x", "60", "-y", "24")
        terminal.wait("kiln> 'abcdefghijklmnopqrstuvwxyz'")
        self.assertEqual(terminal.screen().count("kiln>"), 1)
        self.assertTrue(terminal.screen().startswith("Kiln "))

    def test_clearing_the_screen(self):
        terminal = self.start()
        terminal.type("1 + 1").enter().type("x = [").enter().type("7]").keys("C-l").wait("kiln> x = [\n  ...   7]")
        self.assertTrue(terminal.screen().startswith("kiln> x = ["), terminal.screen())
        terminal.enter().type("x").keys("Enter").wait("kiln> x\n[7]\nkiln>")

    def test_sessions_side_by_side_and_a_killed_one_keep_their_entries(self):
        first = self.start()
        self.terminal = None
        second = self.start()
        try:
            first.type("of_first = 1").enter()
            second.type("of_second = 2").enter()
            first.type("while true { }").keys("Enter")
            time.sleep(0.3)
            shell = first.tmux("display-message", "-p", "#{pane_pid}").strip()
            with open(f"/proc/{shell}/task/{shell}/children") as children:
                os.kill(int(children.read().split()[0]), signal.SIGKILL)
            first.wait("left with 137")
            second.keys("C-d").wait("left with 0")
        finally:
            first.close()
        third = self.start()
        third.keys("Up").wait("kiln> while true { }")
        third.keys("Up").wait("kiln> of_second = 2")
        third.keys("Up").wait("kiln> of_first = 1")

    def test_long_output_goes_through_a_pager(self):
        log = self.home + "/paged"
        pager = self.home + "/pager"
        with open(pager, "w") as file:
            file.write(f"#!/bin/sh\ncat > {log}\necho paged\n")
        os.chmod(pager, 0o755)
        terminal = self.start(height=8, PAGER=pager)
        terminal.type("list(range(900))").keys("Enter").wait("paged\nkiln>")
        with open(log) as file:
            self.assertEqual(file.read(), str(list(range(900))) + "\n")
        terminal.type("2 + 2").keys("Enter").wait("kiln> 2 + 2\n4\nkiln>")
        terminal.type("print(list(range(900)))").keys("Enter").wait("898, 899]\nkiln>")
        terminal.type(":set pager off").enter().type("list(range(899))").keys("Enter").wait("897, 898]\nkiln>")

    def test_a_pager_that_is_left_or_is_not_there(self):
        terminal = self.start(height=8, PAGER="less", LESS="RFX")
        terminal.type("list(range(900))").keys("Enter").wait("\n:")
        terminal.keys("C-c").keys("q").wait("kiln>")
        terminal.type("2 + 2").keys("Enter").wait("kiln> 2 + 2\n4\nkiln>")
        terminal = self.start(height=8, PAGER="/no/such/pager")
        terminal.type("list(range(900))").keys("Enter").wait("898, 899]\nkiln>")

    def test_hint_taken_with_right(self):
        terminal = self.start()
        terminal.type("value = 123").enter().type("val").wait("kiln> value = 123\nkiln> value = 123")
        terminal.keys("Right").type(" + 1").enter().type("value").keys("Enter").wait("kiln> value\n124")

    def test_completion(self):
        terminal = self.start()
        terminal.type("enumer").keys("Tab").wait("kiln> enumerate")
        terminal.keys("C-c").type("x = zeros(2)").enter().type("x.sigm").keys("Tab", "Tab").wait("sigmoid_")
        terminal.keys("C-c").type(":timei").keys("Tab").wait("kiln> :timeit")

    def test_interrupt_while_typing_and_running(self):
        terminal = self.start()
        terminal.type("abandoned").keys("C-c").wait("kiln> abandoned^C\nkiln>")
        terminal.type("n = 7").enter().type("while true { }").keys("Enter")
        time.sleep(0.3)
        terminal.keys("C-c").wait("Interrupted")
        terminal.type("n").keys("Enter").wait("kiln> n\n7\nkiln>")

    def test_note_on_long_work(self):
        terminal = self.start()
        terminal.type("sleep(3)").keys("Enter").wait("running 1 s", seconds=3)
        terminal.keys("C-c").wait("Interrupted")
        self.assertNotIn("running 1 s", terminal.screen())

    def test_paste_is_one_entry_without_prompts(self):
        terminal = self.start()
        terminal.paste(">>> fn h(x) {\n...   return x * 3\n... }\n").enter().type("h(14)").keys("Enter")
        terminal.wait("kiln> h(14)\n42\nkiln>")
        terminal.paste("a = 1\nb = 2\na + b\n").wait("kiln> a = 1\n  ... b = 2\n  ... a + b")
        terminal.keys("Enter").wait("a + b\n3\nkiln>")

    def test_colour_while_typing(self):
        terminal = self.start()
        terminal.type("if 1.5 \"s\"").wait("if 1.5 \"s\"")
        screen = terminal.screen(colours=True)
        self.assertRegex(screen, "\x1b\\[35m(\x1b\\[[0-9]*m)*if")
        self.assertRegex(screen, "\x1b\\[36m1.5")
        self.assertRegex(screen, "\x1b\\[32m\"s\"")

    def test_no_colour(self):
        terminal = self.start(NO_COLOR="1")
        terminal.type("if 1").wait("kiln> if 1")
        self.assertNotIn("\x1b[3", terminal.screen(colours=True))

    def test_dumb_terminal(self):
        terminal = self.start(TERM="dumb")
        terminal.type("fn f() {").enter().type("return 9 }").enter().type("f()").keys("Enter").wait("f()\n9\nkiln>")
        terminal.keys("C-d").wait("left with 0")

    def test_long_lines_wrap(self):
        terminal = self.start(width=20)
        terminal.type("'abcdefghijklmnopqrstuvwxyz'").wait("kiln> 'abcdefghijklm\nnopqrstuvwxyz'")
        terminal.keys("Home").type("1; ").wait("kiln> 1; 'abcdefghij\nklmnopqrstuvwxyz'")
        terminal.keys("Enter").wait("'\n'abcdef")

    def test_wide_characters(self):
        terminal = self.start()
        terminal.type("'漢字é'").keys("Left", "Left").type("x").keys("Enter").wait("'漢字xé'\nkiln>")

    def test_vi_keys(self):
        with open(self.home + "/inputrc", "w") as file:
            file.write("set editing-mode vi\n")
        terminal = self.start()
        terminal.type("1 + 1").keys("Escape")
        time.sleep(0.7)
        terminal.keys("0").type("x").type("i2").keys("Enter").wait("kiln> 2 + 1\n3\nkiln>")

    def test_entry_higher_than_the_terminal(self):
        terminal = self.start(height=8)
        terminal.paste("[\n" + "".join(f"{i},\n" for i in range(20)) + "][19]").wait("][19]")
        terminal.keys("Enter").wait("\n19\nkiln>")


if __name__ == "__main__":
    unittest.main(verbosity=1)
