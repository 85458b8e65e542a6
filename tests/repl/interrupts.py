"""Ctrl-C while all kinds of work is under way. At the prompt of a terminal: the prompt comes back, one sentence is
said, and variables stay. In scripts: the program ends with the sentence and exit code 130.
Usage: interrupts.py KILN [--all] [--scripts] [--rounds N] [--only REGEX] [--limit MILLISECONDS]

Without --all the few rows that stand for one mechanism each are tried in both ways, and the limit is a wide one:
a machine may have other things to do. The times in milliseconds are those until the prompt was back, those that
the interpreter's thread had a processor for meanwhile, and those that the next entry took."""

import argparse
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from interrupt_programs import PROGRAMS

EDITING = b"\x1b[?2004h"  # the line editor waits for an entry
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
SENTENCE = b"Interrupted: stopped"


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": folder, "XDG_STATE_HOME": folder + "/state", "TERM": "xterm",
            "XDG_CACHE_HOME": folder + "/cache"}


class Talk:
    """A prompt in a terminal of its own."""

    def __init__(self, kiln, folder, setup):
        with open(folder + "/setup.kiln", "w") as file:
            file.write("keep = [12345]\n" + setup + "\n")
        self.seen = bytearray()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(kiln, [kiln, "--no-init", "-i", "setup.kiln"], environment(folder))

    def read(self, seconds):
        """Reads what there is, waiting for it for so long; False: nothing came."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            self.seen += os.read(self.terminal, 1 << 20)
        except OSError as error:
            raise EOFError("kiln has ended") from error
        return True

    def wait_for_prompt(self, since, seconds):
        """Milliseconds until the prompt was there, counted from now."""
        start = time.monotonic()
        while self.seen.find(EDITING, since) < 0:
            left = start + seconds - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no prompt after {seconds} s")
            self.read(left)
        return 1000 * (time.monotonic() - start)

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(max(0.0, end - time.monotonic()))

    def send(self, text):
        since = len(self.seen)
        os.write(self.terminal, text)
        return since

    def processor_ms(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e6

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def at_the_prompt(kiln, folder, program, limit):
    """One program, stopped once: the times, and what was wrong (empty: nothing)."""
    talk = Talk(kiln, folder, program.setup)
    try:
        talk.wait_for_prompt(0, 60)
        entry = talk.send(program.entry.encode() + b"\r")
        talk.listen(random.uniform(program.after, program.after + 0.4))
        if talk.seen.find(EDITING, entry) >= 0:
            return "", "it ended before Ctrl-C: " + talk.seen[entry:].decode(errors="replace")[-300:]
        used = talk.processor_ms()
        since = talk.send(b"\x03")
        waited = talk.wait_for_prompt(since, 25)
        used = talk.processor_ms() - used
        said = talk.seen[since:]
        then = talk.send(b"(keep[0] + 1, 1)\r")
        after = talk.wait_for_prompt(then, 10)
        wrong = complaint(waited, said, limit)
        if b"(12346, 1)" not in talk.seen[then:]:
            wrong += f" lost variables: {bytes(talk.seen[then:])[-200:]!r}"
        return f"{waited:7.0f} {used:7.0f} {after:7.0f}", wrong
    except (TimeoutError, EOFError) as error:
        return "", f"{error}: {talk.seen[-300:].decode(errors='replace')}"
    finally:
        talk.close()


def in_a_script(kiln, folder, program, limit):
    with open(folder + "/script.kiln", "w") as file:
        file.write(f"{program.setup}\nprint(\"ready\", flush=true)\n{program.entry}\n")
    process = subprocess.Popen([kiln, "script.kiln"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(folder), cwd=folder)
    try:
        if process.stdout.readline() != b"ready\n":
            return "", "it was not ready"
        time.sleep(random.uniform(program.after, program.after + 0.4))
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=25)
        waited = 1000 * (time.monotonic() - start)
    except subprocess.TimeoutExpired:
        return "", "it has not ended after 25 s"
    finally:
        process.kill()
        process.communicate()
    wrong = complaint(waited, err, limit)
    return f"{waited:7.0f} {'':7} {'':7}", wrong if process.returncode == 130 else f"{wrong} exit code {process.returncode}"


def complaint(waited, said, limit):
    late = "late " if waited > limit else ""
    return late if COLOUR.sub(b"", said).count(SENTENCE) == 1 else f"{late}said {bytes(said)[-300:]!r}"


def trial(run, kiln, program, limit):
    folder = tempfile.mkdtemp()
    try:
        return run(kiln, folder, program, limit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kiln", type=os.path.abspath)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float)
    options = parser.parse_args()
    limit = options.limit or (100 if options.all else 5000)
    ways = [in_a_script] if options.scripts else [at_the_prompt] if options.all else [at_the_prompt, in_a_script]
    failed = 0
    print(f"{'':30} {'ms':>7} {'cpu ms':>7} {'next ms':>7}")
    for program in PROGRAMS:
        if not (options.all or program.in_suite) or not re.search(options.only, program.name):
            continue
        for run in ways * options.rounds:
            if run is in_a_script and not program.is_of_scripts():
                continue
            line, wrong = trial(run, options.kiln, program, limit)
            print(f"{program.name:30} {line} {wrong}", flush=True)
            failed += wrong != ""
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
