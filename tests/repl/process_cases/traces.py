"""Traces: what is in the file, of one process and of all ranks of a job."""

import json
import unittest

from process_cases import support
from process_cases.support import kiln, write


def events_of(name):
    with open(support.FOLDER + "/" + name) as file:
        return json.load(file)["traceEvents"]


class Traces(unittest.TestCase):
    def test_a_program_that_fails_has_one(self):
        write("traced.kiln", "fn f(x) { return (x @ x).relu() }\nfor i in range(3) { f(ones(8, 8)) }\n1 + none\n")
        code, _, err = kiln("--trace", "trace.json", "traced.kiln")
        self.assertEqual(code, 1)
        self.assertIn("TypeError", err)
        products = [each for each in events_of("trace.json") if each["name"] == "matmul"]
        self.assertEqual([each["args"]["line"] for each in products], ["traced.kiln:1"] * 3)

    def test_a_path_that_cannot_be_written_is_told_before_the_program_runs(self):
        code, out, err = kiln("--trace", "missing/trace.json", "-e", "print(1)")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("missing/trace.json", err)
        code, _, err = kiln("--trace", "trace.json")
        self.assertEqual(code, 2)
        self.assertIn("at the prompt `:trace trace.json`", err)

    def test_the_option_may_stand_anywhere_before_and_behind_the_program(self):
        write("argued.kiln", "print(args)\n")
        for words in (["--trace", "t.json", "argued.kiln", "-x"], ["argued.kiln", "-x", "--trace", "t.json"]):
            self.assertEqual(kiln(*words), (0, "['-x']\n", ""))
            self.assertTrue(events_of("t.json"))
        for words in (["--trace", "t.json", "run", "-n", "2"], ["run", "--trace", "t.json", "-n", "2"], ["run", "-n", "2", "--trace=t.json"]):
            code, out, err = kiln(*words, "argued.kiln", "-x")
            self.assertEqual((code, sorted(out.splitlines()), err), (0, ["[0] ['-x']", "[1] ['-x']"], ""))
        code, out, err = kiln("run", "-n", "2", "argued.kiln", "--trace", "missing/t.json")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot write 'missing/t.json'", err)

    def test_a_pipe_is_written_as_it_is(self):
        code, out, _ = kiln("--trace", "/dev/stdout", "-e", "ones(3).exp();")
        self.assertEqual(code, 0)
        self.assertTrue([each for each in json.loads(out)["traceEvents"] if each["name"] == "exp"])

    def test_live_bytes_are_a_counter(self):
        kiln("--no-hot", "--trace", "bytes.json", "-e", "x = ones(1000, 1000)\ny = x.exp()\nx = none\ny.sum();")
        counted = [each for each in events_of("bytes.json") if each["ph"] == "C"]
        self.assertEqual({each["name"] for each in counted}, {"bytes of live tensors"})
        bytes_then = [each["args"]["bytes"] for each in sorted(counted, key=lambda each: each["ts"])]
        self.assertLess(abs(max(bytes_then) - 8e6), 1e6)
        self.assertLess(abs(bytes_then[-1] - 4e6), 1e6)

    def test_ops_and_kernels_say_what_they_move_and_compute(self):
        """An elementwise op moves its operand and its result; a product of matrices has two flops for each product."""
        write("counted.kiln", """x = ones(100, 200)
f = jit(x => ((x + 1).exp() @ ones(200, 50)).sum())
for _ in range(3) { f(x) }
x.exp();
x.t();
x.mul_(2);
""")
        code, _, err = kiln("--trace", "counted.json", "counted.kiln")
        self.assertEqual((code, err), (0, ""))
        events = [each for each in events_of("counted.json") if each.get("cat") in ("op", "kernel")]
        facts = {(each["cat"], each["name"]): each["args"] for each in events}
        self.assertEqual(facts["op", "exp"], {"line": "counted.kiln:4", "bytes": 160000, "flops": 20000})
        self.assertEqual(facts["op", "t"], {"line": "counted.kiln:5"})
        self.assertEqual(facts["op", "mul_"], {"line": "counted.kiln:6", "bytes": 160008, "flops": 20000})
        self.assertEqual(facts["kernel", "add exp"], {"line": "counted.kiln:2", "bytes": 160000, "flops": 40000})
        self.assertEqual(facts["kernel", "matmul"]["flops"], 2 * 100 * 200 * 50)
        self.assertEqual(facts["kernel", "matmul"]["bytes"], 4 * (100 * 200 + 200 * 50 + 100 * 50))

    def test_kernels_are_all_of_a_program_of_kernels(self):
        """What the spans of ops and kernels add up to is the time between the first and the last of them."""
        code, _, err = kiln("--threads", "1", "--trace", "kernels.json", "-e", """
            x = rand(1500, 1500)
            f = jit(x => (x @ x / 1500).relu())
            f(x); y = x
            for _ in range(6) { y = f(y) }
        """)
        self.assertEqual((code, err), (0, ""))
        spans = [each for each in events_of("kernels.json") if each.get("cat") == "kernel"][-12:]
        whole = max(each["ts"] + each["dur"] for each in spans) - min(each["ts"] for each in spans)
        self.assertGreater(sum(each["dur"] for each in spans), 0.95 * whole)
        self.assertLess(sum(each["dur"] for each in spans), 1.001 * whole)

    def test_at_the_prompt(self):
        code, out, err = kiln(stdin=":trace off\n:trace\n:trace shown.json\n:trace other.json\nx = ones(3).exp()\n:trace\n:trace off\n"
                                    "x.sin();\n:trace x.cos().sum() line.json\n:trace nobody failed.json\n:trace left.json\nx.tan();\n")
        self.assertEqual(out, "recording to shown.json until `:trace off`\n" * 2 + "wrote shown.json, which Perfetto opens (ui.perfetto.dev)\n"
                         "f32[] cpu 4 B\n-2.7352016\nwrote line.json, which Perfetto opens (ui.perfetto.dev)\n"
                         "wrote failed.json, which Perfetto opens (ui.perfetto.dev)\nrecording to left.json until `:trace off`\n"
                         "wrote left.json, which Perfetto opens (ui.perfetto.dev)\n", err)
        for sentence in ("no trace is being recorded", "give the file of the trace", "a trace is being recorded already, to shown.json",
                         "NameError"):
            self.assertEqual(err.count(sentence), 1, err)
        ops = lambda name: {each["name"] for each in events_of(name) if each.get("cat") == "op"}
        self.assertEqual((ops("shown.json") & {"exp", "sin", "cos", "tan"}), {"exp"})
        self.assertEqual((ops("line.json") & {"exp", "sin", "cos", "tan"}), {"cos"})
        self.assertEqual((ops("left.json") & {"exp", "sin", "cos", "tan"}), {"tan"})

    def test_ranks_are_one_file_of_one_clock(self):
        write("both.kiln", """import dist
dist.init()
for i in range(3) { dist.allreduce(ones(1000) * i, name=f"w{i}") }
""")
        code, out, err = kiln("run", "-n", "2", "--trace", "ranks.json", "both.kiln")
        self.assertEqual((code, out, err), (0, "", ""))
        events = events_of("ranks.json")
        self.assertEqual([each["args"]["name"] for each in events if each["name"] == "process_name"], ["rank 0", "rank 1"])
        for rank in range(2):
            own = [each for each in events if each["pid"] == rank]
            self.assertTrue([each for each in own if each.get("cat") == "op"])
            self.assertTrue(all(each["ts"] >= 0 for each in own if "ts" in each))
        when = {(each["pid"], each["args"]["of"].split("`")[1], each["ph"]): each["ts"]
                for each in events if each.get("cat") == "collective" and each["name"] == "allreduce"}
        self.assertEqual(len(when), 12)
        for i in range(3):  # no rank ends before the other has begun
            for rank in range(2):
                self.assertLess(when[rank, f"w{i}", "b"], when[1 - rank, f"w{i}", "e"])
