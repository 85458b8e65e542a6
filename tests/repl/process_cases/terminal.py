"""What differs on a terminal: pictures, colours, links."""

import os
import pty
import subprocess
import unittest

from process_cases import support
from process_cases.support import environment, kiln, write


class Pictures(unittest.TestCase):
    PROGRAM = "for _ in range(2) { plot([1, 2], width=20, height=5) }"

    def shown(self, answer, typed_ahead=b"", program=PROGRAM, **changes):
        """What a terminal is sent that answers the question for its attributes so, and how often it is asked."""
        ours, theirs = pty.openpty()
        os.write(ours, typed_ahead)
        process = subprocess.Popen([support.KILN, "-e", program], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
                                   env=environment(**{"TERM": "xterm", **changes}), cwd=support.FOLDER)
        os.close(theirs)
        received, asked = b"", 0
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            received += part
            if received.count(b"\x1b[c") > asked:
                asked += 1
                os.write(ours, answer)
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return received, asked

    def test_as_the_terminal_can(self):
        sixels, asked = self.shown(b"\x1b[?62;4;22c")
        self.assertEqual((sixels.count(b"\x1bP0;1q"), asked), (2, 1))
        kitty, asked = self.shown(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c")
        self.assertEqual((kitty.count(b"a=T,f=100"), asked), (2, 1))
        text, asked = self.shown(b"\x1b[?1;2c")
        self.assertEqual((text.count("└".encode()), asked), (2, 1))

    def test_a_curve_grows_below_a_bar(self):
        program = "l = [1]\nfor i in progress(range(3), curve=l) { l.append(i); sleep(0.15) }\nprint(\"after\")"
        drawn, _ = self.shown(b"", program=program)
        self.assertGreaterEqual(drawn.count("└".encode()), 2)
        self.assertRegex(drawn, rb"\x1b\[(\d)A\r\x1b\[\1B\r\nafter\r\n$")

    def test_nothing_is_asked_where_the_answer_would_be_lost(self):
        for more in ({"TERM": "dumb"}, {"NO_COLOR": "1"}, {"typed_ahead": b"1 + 1\n"}):
            text, asked = self.shown(b"", **more)
            self.assertEqual((text.count("└".encode()), asked), (2, 0), more)


class Colour(unittest.TestCase):
    def on_terminal(self, *arguments, **changes):
        """What the program writes when both streams are a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([support.KILN, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                   env=environment(**{"TERM": "xterm-256color", **changes}), cwd=support.FOLDER)
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(master)
        process.wait(timeout=60)
        return text

    def test_colour_only_on_a_terminal(self):
        self.assertIn(b"\x1b[", self.on_terminal("-e", "nobody"))
        self.assertNotIn("\x1b[", kiln("-e", "nobody")[2])

    def test_places_in_files_are_links(self):
        path = write("with a blank.kiln", "x = 1\nnobody\n")
        link = b"file://" + os.uname().nodename.encode() + path.replace(" ", "%20").encode() + b"#2"
        linked = b"\x1b]8;;" + link + b"\x1b\\with a blank.kiln:2:1\x1b]8;;\x1b\\"
        for shows in ({"FORCE_HYPERLINK": "1"}, {"VTE_VERSION": "7000"}, {"TERM_PROGRAM": "WezTerm"}):
            self.assertIn(linked, self.on_terminal("with a blank.kiln", **shows))
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_HYPERLINK": "0"}):
            text = self.on_terminal("with a blank.kiln", **{"VTE_VERSION": "7000", **more})
            self.assertIn(b"with a blank.kiln:2:1", text)
            self.assertNotIn(b"\x1b]8", text)
        self.assertNotIn(b"\x1b]8", self.on_terminal("-e", "nobody", FORCE_HYPERLINK="1"))
        self.assertNotIn("\x1b]8", kiln("with a blank.kiln", FORCE_HYPERLINK="1", CLICOLOR_FORCE="1")[2])

    def test_what_turns_it_off_and_on(self):
        self.assertNotIn(b"\x1b[", self.on_terminal("-e", "nobody", NO_COLOR="1"))
        self.assertNotIn(b"\x1b[", self.on_terminal("--no-color", "-e", "nobody"))
        self.assertIn("\x1b[", kiln("-e", "nobody", CLICOLOR_FORCE="1")[2])
        self.assertNotIn("\x1b[", kiln("-e", "nobody", CLICOLOR_FORCE="1", NO_COLOR="1")[2])
        self.assertNotIn("\x1b[", kiln("--no-color", "-e", "nobody", CLICOLOR_FORCE="1")[2])
