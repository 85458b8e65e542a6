"""Ctrl-C stops whatever runs."""

import os
import signal
import subprocess
import time
import unittest

from process_cases import support
from process_cases.support import environment, write


class Interrupting(unittest.TestCase):
    def interrupted(self, *arguments):
        process = subprocess.Popen([support.KILN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, env=environment(), cwd=support.FOLDER)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # None of these ends by itself. The promise is 0.1 s, but not on a machine with other things to do.
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(b"Interrupted", err)

    def test_endless_loop(self):
        write("loop.kiln", "print(\"ready\", flush=true)\nwhile true { }\n")
        self.interrupted("loop.kiln")

    def test_endless_recursion_of_tensors(self):
        write("tensors.kiln", "x = ones(100, 100)\nprint(\"ready\", flush=true)\nwhile true { x = x @ x / 100 }\n")
        self.interrupted("tensors.kiln")

    def test_host_function_over_a_long_range(self):
        write("sum.kiln", "print(\"ready\", flush=true)\nsum(range(1000000000000))\n")
        self.interrupted("sum.kiln")

    def test_waiting_for_others(self):
        """Each call waits for what never comes; `catch` does not see that it was stopped."""
        fifo = os.path.join(support.FOLDER, "fifo")
        os.mkfifo(fifo)
        # Somebody has both ends, so that opening does not wait, and neither writes nor reads.
        both = os.open(fifo, os.O_RDWR)
        opened = ["input()", "open(\"fifo\").read()", "open(\"fifo\").readline()", "open(\"fifo\").lines()",
                  "for line in open(\"fifo\") { }", "open(\"fifo\", \"rb\").read(3)", "load(\"fifo\")",
                  "f = open(\"fifo\", \"w\"); while true { f.write(\"x\" * 100000) }",
                  "while true { save(\"fifo.npy\", zeros(100000)) }"]
        os.symlink(fifo, os.path.join(support.FOLDER, "fifo.npy"))
        os.symlink(fifo, os.path.join(support.FOLDER, "fifo.kiln"))
        try:
            for call in opened + ["import \"./fifo.kiln\" as module"]:
                self.waits(call)
        finally:
            os.close(both)
        for call in ["open(\"fifo\")", "open(\"fifo\", \"w\")", "load(\"fifo.npy\")", "save(\"fifo.npy\", zeros(3))"]:
            self.waits(call)

    def waits(self, call):
        write("wait.kiln", f"print(\"ready\", flush=true)\ntry {{ {call} }} catch err {{ print(\"caught\", err.kind) }}\n")
        process = subprocess.Popen([support.KILN, "wait.kiln"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), cwd=support.FOLDER)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("not stopped: " + call)
        out, err = process.stdout.read(), process.stderr.read()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        self.assertEqual((process.returncode, out), (130, b""), call)
        self.assertIn(b"Interrupted: stopped", err, call)

    def test_sleep(self):
        write("sleep.kiln", "print(\"ready\", flush=true)\nsleep(60)\n")
        self.interrupted("sleep.kiln")
