#!/usr/bin/env python3
"""Asks the kernel for Jupyter what a notebook asks: kernel.py KILN-KERNEL. Skipped where Jupyter's client is not installed."""

import os
import signal
import sys
import time

try:
    import jupyter_client
except ImportError:
    print("python3-jupyter-client is not installed")
    sys.exit(77)

from served import PATIENCE, Place, Served, text_of


def check_cells(kernel):
    reply, told = kernel.run("print(\"hello, world\")\ntensor([1.0, 2.0]) * 2")
    assert reply["status"] == "ok" and reply["execution_count"] == 1, reply
    assert [kind for kind, _ in told] == ["stream", "execute_result"], told
    assert told[0][1] == {"name": "stdout", "text": "hello, world\n"}, told
    assert told[1][1]["data"]["text/plain"] == "f32[2] cpu 8 B\n[2., 4.]", told
    assert "<table>" in told[1][1]["data"]["text/html"], told
    assert kernel.text("_1.sum().item()") == "6.0\n"
    reply, told = kernel.run("x = 5\nnobody")
    assert reply["status"] == "error" and reply["ename"] == "NameError", reply
    assert [kind for kind, _ in told] == ["error"], told
    assert any("<prompt:3>:2:1" in line for line in told[0][1]["traceback"]), told
    reply, _ = kernel.run("x", user_expressions={"twice": "x * 2"})
    assert reply["user_expressions"]["twice"]["data"]["text/plain"] == "10", reply
    # Bytes that are no text are shown as such, and the kernel goes on.
    assert "\ufffd" in kernel.text("!printf '\\377\\n'")


def check_questions(kernel):
    client = kernel.client
    info = kernel.reply(client.kernel_info())
    assert info["language_info"]["name"] == "kiln" and info["language_info"]["file_extension"] == ".kiln", info
    found = kernel.reply(client.complete("\"é\"; x.shap", 11))
    assert found["status"] == "ok" and found["cursor_end"] == 11, found
    assert "relu" in kernel.reply(client.complete("rel"))["matches"]
    page = kernel.reply(client.inspect("relu(", 5))
    assert page["found"] and "relu" in page["data"]["text/plain"], page
    assert not kernel.reply(client.inspect("no_such_name"))["found"]
    states = {"x = 1": "complete", "fn f(x) {": "incomplete", "1 +* 2": "invalid", ":help": "complete"}
    for text, state in states.items():
        assert kernel.reply(client.is_complete(text))["status"] == state, text
    kernel.run("1 + 1")
    last = kernel.reply(client.history(hist_access_type="tail", n=1, output=True))["history"]
    assert last[0][2] == ["1 + 1", "2"], last
    number = last[0][1]
    ranged = kernel.reply(client.history(hist_access_type="range", session=0, start=number, stop=number + 1))
    assert ranged["history"] == [[last[0][0], number, "1 + 1"]], ranged


def check_input(kernel):
    request = kernel.send("input(\"how many? \")")
    asked = kernel.client.get_stdin_msg(timeout=PATIENCE)
    assert asked["content"]["prompt"] == "how many? ", asked
    kernel.client.input("seven")
    assert "".join(text_of(*each) for each in kernel.messages(request) if each[0] == "execute_result") == "'seven'\n"
    kernel.reply(request)


def check_interrupts(kernel):
    """While nothing runs, and in whatever keeps a cell busy: the kernel answers at once and knows its variables."""
    kernel.run("kept = 41")
    kernel.manager.interrupt_kernel()
    time.sleep(0.05)
    assert kernel.text("kept + 1") == "42\n"
    # An interrupt that came before the next cell is not meant for it.
    kernel.manager.interrupt_kernel()
    assert kernel.text("n = 0\nwhile n < 1000 { n += 1 }\nn") == "1000\n"
    for code in ("while true { }", "sleep(60)", "input(\"?\")", "x = randn(600, 600)\nwhile true { x = (x @ x).tanh() }",
                 "!sleep 60; false"):
        request = kernel.send(code)
        kernel.wait_until_busy(request)
        time.sleep(0.1)
        kernel.manager.interrupt_kernel()
        list(kernel.messages(request))
        reply = kernel.reply(request)
        assert code.startswith("!") or reply["ename"] == "Interrupted", (code, reply)
        assert kernel.text("kept + 1") == "42\n", code


def check_forgery(kernel):
    """A message that is not signed with the key of the connection does nothing."""
    session = kernel.client.session
    right = session.key
    session.key = b"not the key"
    kernel.send("kept = 0")
    session.key = right
    assert kernel.is_silent(0.3)
    assert kernel.text("kept") == "41\n"


def check_two_kernels(place, kernel):
    with Served(place) as other:
        assert other.text("kept = 7\nkept") == "7\n"
        assert kernel.text("kept") == "41\n"


def check_crash(kernel):
    """The cells that ran before a crash can be run again."""
    kernel.run("fn double(x) = 2 * x\nkept = double(4)")
    kernel.client.stop_channels()
    os.kill(kernel.process_id(), signal.SIGKILL)
    while kernel.manager.is_alive():
        time.sleep(0.01)
    kernel.manager.restart_kernel(now=True)
    kernel.connect()
    notice = kernel.text("1")
    load = next(line for line in notice.splitlines() if line.startswith(":load "))
    kernel.run(load)
    assert kernel.text("double(kept)") == "16\n"


def check_end(kernel):
    """The end of a kernel does not wait for its cell, and leaves nothing to be run again."""
    request = kernel.send("while true { }")
    kernel.wait_until_busy(request)
    process, begin = kernel.manager.provisioner.process, time.monotonic()
    kernel.manager.request_shutdown()
    process.wait(timeout=PATIENCE)
    assert process.returncode == 0, process.returncode
    assert time.monotonic() - begin < 5
    left = os.listdir(os.environ["XDG_STATE_HOME"] + "/kiln/notebook")
    assert not [name for name in left if name.endswith(".kiln")], left


def main():
    with Place(sys.argv[1]) as place, Served(place) as kernel:
        check_cells(kernel)
        check_questions(kernel)
        check_input(kernel)
        check_interrupts(kernel)
        check_forgery(kernel)
        check_two_kernels(place, kernel)
    with Place(sys.argv[1]) as place, Served(place) as kernel:
        check_crash(kernel)
        check_end(kernel)
    print("the kernel answers as a notebook expects")


if __name__ == "__main__":
    main()
