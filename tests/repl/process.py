"""The real binary from outside: streams, exit codes, signals, colour. Usage: process.py path/to/kiln path/to/no_compiler"""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

KILN = os.path.abspath(sys.argv.pop(1))
NO_COMPILER = os.path.abspath(sys.argv.pop(1))


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    env.update({"HOME": FOLDER, "XDG_STATE_HOME": FOLDER + "/state", "XDG_CONFIG_HOME": FOLDER + "/config"})
    env.update(changes)
    return env


def kiln(*arguments, stdin="", **changes):
    result = subprocess.run([KILN, *arguments], input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment(**changes), cwd=FOLDER, timeout=60)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    return path


class Models(unittest.TestCase):
    """`kiln run model.onnx` on tensors of files."""

    @classmethod
    def setUpClass(cls):
        code, out, err = kiln("-e", """
            fn f(x, y) = x * 2 + y, x.sum()
            export(f, [ones(2, 3), ones(3)], "two.onnx");
            save("x.npy", ones(2, 3)); save("y.npy", arange(3.0)); save("wide.npy", ones(4)); save("whole.npy", arange(3))
        """)
        assert (code, err) == (0, ""), err

    def result(self, *arguments):
        self.assertEqual(kiln("run", "two.onnx", *arguments, "--output", "first.npy", "--output", "second.npy"), (0, "", ""))
        return kiln("-e", 'print(load("first.npy").tolist(), load("second.npy").item())')[1]

    def test_inputs_are_given_in_order_or_by_name(self):
        right = "[[2.0, 3.0, 4.0], [2.0, 3.0, 4.0]] 6.0\n"
        self.assertEqual(self.result("--input", "x.npy", "--input", "y.npy"), right)
        self.assertEqual(self.result("--input", "y=y.npy", "--input", "x.npy"), right)
        self.assertIn("6.0", kiln("run", "two.onnx", "--input", "x.npy", "--input", "y.npy")[1])

    def test_what_does_not_fit_is_told(self):
        for arguments, sentence in (
            (["x.npy"], "ValueError: the input 'y' of the model is missing"),
            (["x.npy", "wide.npy"], "ShapeError: the input 'y' of the model has the shape [3], and is given one of the shape [4]"),
            (["x.npy", "whole.npy"], "DTypeError: the input 'y' of the model is of f32, and is given i64"),
            (["x.npy", "y.npy", "y.npy"], "ValueError: the model takes the inputs 'x', 'y', and is given 1 more tensors than those"),
            (["z=x.npy"], "ValueError: the model has no input 'z': its inputs are 'x', 'y'"),
            (["none.npy"], "IOError: cannot read 'none.npy': No such file or directory"),
        ):
            code, out, err = kiln("run", "two.onnx", *[word for path in arguments for word in ("--input", path)])
            self.assertEqual((code, out, err.splitlines()[0]), (1, "", sentence))


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
            without = {"XDG_CACHE_HOME": folder, "LD_PRELOAD": NO_COMPILER, "ASAN_OPTIONS": "verify_asan_link_order=0"}
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
        path = write("s.kiln", f"#!/usr/bin/env -S {KILN}\nprint(\"ran\", len(args))\n")
        os.chmod(path, 0o755)
        result = subprocess.run([path, "one"], capture_output=True, env=environment(), timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, b"ran 1\n"))

    def test_standard_input_as_script(self):
        self.assertEqual(kiln("-", "a", stdin="1 + 1\nprint(args)\n"), (0, "['a']\n", ""))

    def test_script_from_a_pipe_file(self):
        result = subprocess.run(["bash", "-c", f"{KILN} <(echo 'print(6 * 7)')"], capture_output=True,
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
        os.makedirs(FOLDER + "/config/kiln", exist_ok=True)
        write("config/kiln/init.kiln", "mine = 7\n")
        self.assertEqual(kiln(stdin="mine\n")[1], "7\n")
        self.assertIn("NameError", kiln("--no-init", stdin="mine\n")[2])
        self.assertIn("NameError", kiln("-e", "mine")[2])
        os.unlink(FOLDER + "/config/kiln/init.kiln")

    def test_imports_are_relative_to_the_script(self):
        os.makedirs(FOLDER + "/deep", exist_ok=True)
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
        linked = subprocess.run(["ldd", KILN], stdout=subprocess.PIPE, timeout=60).stdout.decode()
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
            result = subprocess.run([KILN, "-e", "1"], stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write the results", result.stderr)

    def test_a_reader_that_goes_away_is_no_error(self):
        script = f"{KILN} -e 'for i in range(1000000) {{ print(i) }}' | head -1; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", script], capture_output=True, env=environment(), timeout=60)
        self.assertEqual(result.stderr, b"")
        self.assertEqual(result.stdout.split(b"\n")[:2], [b"0", b"141"])


class Interrupting(unittest.TestCase):
    def interrupted(self, *arguments):
        process = subprocess.Popen([KILN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, env=environment(), cwd=FOLDER)
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
        fifo = os.path.join(FOLDER, "fifo")
        os.mkfifo(fifo)
        # Somebody has both ends, so that opening does not wait, and neither writes nor reads.
        both = os.open(fifo, os.O_RDWR)
        opened = ["input()", "open(\"fifo\").read()", "open(\"fifo\").readline()", "open(\"fifo\").lines()",
                  "for line in open(\"fifo\") { }", "open(\"fifo\", \"rb\").read(3)", "load(\"fifo\")",
                  "f = open(\"fifo\", \"w\"); while true { f.write(\"x\" * 100000) }",
                  "while true { save(\"fifo.npy\", zeros(100000)) }"]
        os.symlink(fifo, os.path.join(FOLDER, "fifo.npy"))
        os.symlink(fifo, os.path.join(FOLDER, "fifo.kiln"))
        try:
            for call in opened + ["import \"./fifo.kiln\" as module"]:
                self.waits(call)
        finally:
            os.close(both)
        for call in ["open(\"fifo\")", "open(\"fifo\", \"w\")", "load(\"fifo.npy\")", "save(\"fifo.npy\", zeros(3))"]:
            self.waits(call)

    def waits(self, call):
        write("wait.kiln", f"print(\"ready\", flush=true)\ntry {{ {call} }} catch err {{ print(\"caught\", err.kind) }}\n")
        process = subprocess.Popen([KILN, "wait.kiln"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), cwd=FOLDER)
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


class Pictures(unittest.TestCase):
    PROGRAM = "for _ in range(2) { plot([1, 2], width=20, height=5) }"

    def shown(self, answer, typed_ahead=b"", program=PROGRAM, **changes):
        """What a terminal is sent that answers the question for its attributes so, and how often it is asked."""
        ours, theirs = pty.openpty()
        os.write(ours, typed_ahead)
        process = subprocess.Popen([KILN, "-e", program], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
                                   env=environment(**{"TERM": "xterm", **changes}), cwd=FOLDER)
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
            self.assertFalse(os.path.exists(os.path.join(FOLDER, "victim")), call)

    def test_a_limit_of_files_is_an_error_of_the_write(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, value in (("x.npy", "zeros(100000)"), ("x.npz", "{\"a\": zeros(100000)}"), ("x.csv", "zeros(100000)"),
                                ("x.safetensors", "{\"a\": zeros(100000)}"), ("x.png", "rand(400, 400)")):
                program = f"try {{ save(\"{folder}/{name}\", {value}) }} catch err {{ print(err.kind, listdir(\"{folder}\")) }}"
                result = subprocess.run(["bash", "-c", f"ulimit -f 16; exec {KILN} -e '{program}'"], capture_output=True,
                                        env=environment(), cwd=folder, timeout=60)
                self.assertEqual((result.returncode, result.stdout), (0, b"IOError []\n"), (name, result.stderr))

    def test_what_a_killed_save_left_goes_with_the_next(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"x = zeros(30000000)\nprint(\"ready\", flush=true)\nwhile true {{ save(\"{folder}/x.npy\", x) }}"
            for _ in range(20):
                process = subprocess.Popen([KILN, "-e", program], stdout=subprocess.PIPE, env=environment())
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


class Colour(unittest.TestCase):
    def on_terminal(self, *arguments, **changes):
        """What the program writes when both streams are a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([KILN, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                   env=environment(**{"TERM": "xterm-256color", **changes}), cwd=FOLDER)
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

    def test_trace(self):
        write("traced.kiln", "fn f(x) { return (x @ x).relu() }\nfor i in range(3) { f(ones(8, 8)) }\n1 + none\n")
        code, _, err = kiln("--trace", "trace.json", "traced.kiln")
        self.assertEqual(code, 1)
        self.assertIn("TypeError", err)
        with open(FOLDER + "/trace.json") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual(sum(each["name"] == "matmul" for each in events), 3)
        code, _, err = kiln("--trace", "missing/trace.json", "-e", "1")
        self.assertEqual(code, 1)
        self.assertIn("missing/trace.json", err)

    def test_report(self):
        write("reported.kiln", "@jit fn f(x) { return (x * 2 + 1).relu() }\nstruct S { @jit fn g(self, x) = x.sin() }\n"
              "f(ones(4)); f(ones(4)); f(ones(2, 2)); S().g(ones(3)); print(args)\n")
        self.assertEqual(kiln("report", "-o", "page.html", "reported.kiln", "a"), (0, "['a']\nwrote page.html\n", ""))
        with open(FOLDER + "/page.html") as file:
            page = file.read()
        for text in ("<h2>f</h2>", "<h2>S.g</h2>", "x is f32[4]", "relu", "reported.kiln:1", "1 hits"):
            self.assertIn(text, page)
        self.assertEqual(kiln("report")[0], 2)
        self.assertEqual(kiln("report", "no_such.kiln")[0], 2)

    def test_folders(self):
        os.makedirs(FOLDER + "/tree/deep/.hidden", exist_ok=True)
        for name in ("a", "deep/b", "deep/.hidden/c"):
            write(f"tree/{name}.kiln", "x=1\n")
        os.symlink("..", FOLDER + "/tree/deep/up")
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
        os.makedirs(FOLDER + "/some/closed", exist_ok=True)
        write("some/z.kiln", "print(undefined_thing)\n")
        os.chmod(FOLDER + "/some/closed", 0)
        os.chmod(FOLDER, 0o755)
        # Root may read all.
        user = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        try:
            result = subprocess.run([KILN, "check", "some"], capture_output=True, env=environment(), cwd=FOLDER, timeout=60, **user)
        except PermissionError:
            self.skipTest("another user may not run the command")
        finally:
            os.chmod(FOLDER + "/some/closed", 0o700)
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
        process = subprocess.Popen([KILN, "run", "-n", "2", "forever.kiln"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), cwd=FOLDER)
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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        unittest.main(verbosity=1)
