#!/usr/bin/env python3
"""A hundred interrupts at random moments: while a kernel is idle, busy, compiling and within a long operation. It lives, replies
soon, and keeps every variable. Arguments: how many, and the seed."""
# Environment: jupyter

import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.kernels import Place, Served, kernel_program  # noqa: E402

PATIENCE = 0.2  # seconds from the interrupt to the reply, without those in which other programs had the processor

# Each keeps a cell busy for longer than any of the moments; some of it is new each time, so that it is compiled anew.
BUSY = {
    "interpreting": "n = 0\nwhile true { n += 1 }",
    "printing": "while true { print(\"a line\") }",
    "sleeping": "sleep(60)",
    "multiplying": "a = randn(1500, 1500)\nwhile true { a = (a @ a).tanh() }",
    "one product": "a = randn(6000, 6000)\na @ a",
    "sorting": "while true { randn(4000000).sort() }",
    "compiling": "fn f(x, n) { for i in range(n) { x = (x * (1 + i / 100)).sin() + x.cos() }; return x }\n"
                 "for k in range(100000) { jit(x => f(x, 40 + k))(ones(7 + k)) }",
    "differentiating": "w = randn(300, 300).requires_grad_()\n"
                       "while true { ((w @ w).tanh() @ w).sum().backward() }",
    "progress": "for i in progress(range(100000000)) { }",
    "input": "input(\"? \")",
}


class OwnSeconds:
    """How long something took, less what the kernel's main thread waited for a processor meanwhile."""

    def __init__(self, kernel):
        self.file = Path(f"/proc/{kernel.process_id()}/schedstat")
        self.waited, self.began = self.waits(), time.perf_counter()

    def waits(self):
        return int(self.file.read_text().split()[1]) * 1e-9

    def seconds(self):
        whole = time.perf_counter() - self.began
        return whole - (self.waits() - self.waited)


def interrupt_idle(kernel, rng):
    time.sleep(rng.uniform(0, 0.05))
    kernel.manager.interrupt_kernel()
    own = OwnSeconds(kernel)
    assert kernel.text("kept") == "41\n"
    return own.seconds()


def interrupt_busy(kernel, rng, code):
    request = kernel.send(code)
    kernel.wait_until_busy(request)
    time.sleep(rng.uniform(0, 0.6))
    own = OwnSeconds(kernel)
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(request)
    seconds = own.seconds()
    assert reply["status"] == "error" and reply["ename"] == "Interrupted", (code, reply)
    for _ in kernel.messages(request):
        pass
    return seconds


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    times = {}
    with Place(kernel_program()) as place, Served(place) as kernel:
        process = kernel.process_id()
        kernel.run("kept = 41")
        for _ in range(count):
            what = rng.choice(["idle", *BUSY])
            seconds = interrupt_idle(kernel, rng) if what == "idle" else interrupt_busy(kernel, rng, BUSY[what])
            times.setdefault(what, []).append(seconds)
            assert kernel.text("kept") == "41\n", what
        assert kernel.process_id() == process
    for what, each in sorted(times.items()):
        print(f"{what:16} {len(each):3} times, median {statistics.median(each) * 1e3:6.1f} ms, longest {max(each) * 1e3:6.1f} ms")
    late = {what: max(each) for what, each in times.items() if max(each) > PATIENCE}
    assert not late, f"later than {PATIENCE * 1e3:.0f} ms: {late}"


if __name__ == "__main__":
    main()
