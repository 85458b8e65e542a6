#!/usr/bin/env python3
"""The Python package, with NumPy: test_kiln.py FOLDER-OF-LIBKILN. Skipped (77) where there is no NumPy."""
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
import weakref
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[3]
os.environ["KILN_LIBRARY"] = str(Path(sys.argv.pop(1)) / "libkiln.so.1")
sys.path.insert(0, str(ROOT / "embed" / "python"))
import kiln  # noqa: E402


def address(array):
    return array.__array_interface__["data"][0]


class Values(unittest.TestCase):
    def test_results_become_values_of_python(self):
        self.assertEqual(kiln.eval("6 * 7"), 42)
        self.assertEqual(kiln.eval("1 / 2"), 0.5)
        self.assertEqual([kiln.eval("[1-2j]"), complex(kiln.eval("tensor([2j])"))], [[1 - 2j], 2j])
        self.assertIs(kiln.eval("x = 1"), None)
        self.assertEqual(kiln.eval("[1, 2.5, none, {'a': (1, true)}, 'grün']"), [1, 2.5, None, {"a": (1, True)}, "grün"])

    def test_arguments_become_values_of_kiln(self):
        same = kiln.eval("x => x")
        for value in (1, -(2**63), 2.5, 1 - 2j, True, None, "text\0grün", [1, [2.0]], (1, "a"), {"a": [1], 2: None}):
            self.assertEqual(same(value), value)
        self.assertEqual(same(np.float64(1.5)), 1.5)
        self.assertEqual(same(np.int32(7)), 7)
        self.assertEqual(same(np.complex64(2j)), 2j)
        with self.assertRaises(OverflowError):
            same(2**63)
        with self.assertRaisesRegex(TypeError, "no value for one of builtins.object"):
            same(object())

    def test_functions_take_names(self):
        session = kiln.Session()
        session.eval("fn area(width, height=2) { return width * height }")
        self.assertEqual(session.area(3), 6)
        self.assertEqual(session.area(3, height=5), 15)
        self.assertEqual(session.area(height=5, width=1), 5)

    def test_functions_are_arguments_and_results(self):
        compose = kiln.eval("(f, g) => x => f(g(x))")
        self.assertEqual(compose(kiln.eval("x => x + 1"), kiln.eval("x => x * 2"))(5), 11)

    def test_objects_have_attributes(self):
        session = kiln.Session()
        session.eval("struct Point { x = 1\n y = 2\n fn sum(self) = self.x + self.y }")
        point = session.Point(x=4)
        self.assertEqual((point.x, point.sum()), (4, 6))
        with self.assertRaises(AttributeError):
            point.z
        with self.assertRaises(AttributeError):
            session.nothing


class Errors(unittest.TestCase):
    def test_errors_say_what_the_prompt_says(self):
        with self.assertRaises(kiln.Error) as caught:
            kiln.eval("a = ones(2, 3)\na @ a")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.kind, error.line), ("ShapeError", 2))
        self.assertTrue(error.code.startswith("K"))
        self.assertIn("^", str(error))
        self.assertIn(error.message, str(error))

    def test_exit_is_an_exit_of_python(self):
        with self.assertRaises(SystemExit) as caught:
            kiln.eval("exit(3)")
        self.assertEqual(caught.exception.code, 3)

    def test_files_are_loaded_with_their_imports(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "helper.kiln").write_text("fn twice(x) = x * 2\n")
            Path(folder, "main.kiln").write_text('import "./helper.kiln" as helper\nfn f(x) = helper.twice(x) + 1\n')
            program = kiln.load(Path(folder, "main.kiln"))
        self.assertEqual(program.f(20), 41)
        with self.assertRaisesRegex(kiln.Error, "missing.kiln"):
            kiln.load("missing.kiln")

    def test_what_programs_print_goes_to_sinks(self):
        texts = []
        kiln.Session(out=texts.append, arguments=["a", "b"]).eval("print(args)")
        self.assertEqual("".join(texts), "['a', 'b']\n")


class Arrays(unittest.TestCase):
    def setUp(self):
        self.session = kiln.Session()
        self.session.eval("fn add_(x) { x += 1 }\nfn where(x) = x.data_ptr()")

    def test_memory_is_shared_both_ways(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.assertEqual(self.session.where(x), address(x))
        self.session.add_(x)
        self.assertEqual(x[1, 2], 6)
        t = self.session.eval("t = arange(6.0).reshape(2, 3)\nt")
        y = t.numpy()
        self.assertEqual((t.data_ptr(), t.shape, t.dtype, t.ndim, len(t)), (address(y), (2, 3), "f32", 2, 2))
        y[0, 0] = 100
        self.assertEqual(t.max().item(), 100)
        self.session.eval("t += 1")
        self.assertEqual(y[0, 1], 2)
        self.assertEqual(address(np.asarray(t)), address(y))
        self.assertEqual(address(np.from_dlpack(t)), address(y))
        self.assertEqual(address(y) % 64, 0)

    def test_views_are_views(self):
        x = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
        for view in (x[:, 1:, ::2], x.T, x[0], x[:, :, 3], np.array(3.0), np.zeros((0, 3)), x[:, :0]):
            self.assertEqual(self.session.eval("x => x.tolist()")(view), view.tolist())
            if view.size:
                self.assertEqual(self.session.where(view), address(view))
        t = self.session.tensor(x)
        self.assertEqual(t[:, 1:, ::2].tolist(), x[:, 1:, ::2].tolist())
        self.assertEqual(t[-1, ..., None].tolist(), x[-1, ..., None].tolist())
        self.assertEqual([row.tolist() for row in t], x.tolist())
        self.assertEqual(t.permute([2, 0, 1]).numpy().tolist(), x.transpose(2, 0, 1).tolist())

    def test_all_dtypes(self):
        for dtype in (bool, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.complex64,
                      np.complex128):
            x = np.array([0, 1, 1], dtype=dtype)
            self.assertEqual(self.session.where(x), address(x))
            back = self.session.eval("x => x")(x).numpy()
            self.assertEqual((back.dtype, back.tolist(), address(back)), (x.dtype, x.tolist(), address(x)))
        with self.assertRaisesRegex(TypeError, "bf16"):
            self.session.eval("ones(2, dtype=bf16)").numpy()

    def test_read_only_arrays_are_written_as_copies(self):
        x = np.arange(3.0)
        x.flags.writeable = False
        self.assertEqual(self.session.where(x), address(x))
        self.session.add_(x)
        self.assertEqual(x.tolist(), [0, 1, 2])
        self.assertEqual(self.session.eval("fn(x) { x += 1; return x.sum().item() }")(x), 6)

    def test_what_cannot_be_shared_is_refused(self):
        x = np.arange(4, dtype=np.float32)
        unaligned = np.frombuffer(bytearray(17), dtype=np.uint8)[1:].view(np.float32)
        for array, words in (
            (x[::-1], "backwards"),
            (unaligned, "not aligned"),
            (np.arange(3, dtype=np.uint16), "no dtype"),
            (np.array(["a"]), "no dtype"),
            (x.astype(">f4"), "no dtype"),
        ):
            with self.assertRaisesRegex(Exception, words):
                self.session.add_(array)

    def test_memory_lives_as_long_as_it_is_needed(self):
        class Array(np.ndarray):
            pass

        dropped = []
        x = np.arange(4.0).view(Array)
        weakref.finalize(x, dropped.append, True)
        self.session.eval("kept = {}\nfn keep(x) { kept['x'] = x }")
        self.session.keep(x)
        del x
        gc.collect()
        self.assertEqual(dropped, [])
        self.session.eval("kept.clear()")
        gc.collect()
        self.assertEqual(dropped, [True])
        y = kiln.Session().eval("full([1000], 7.0)").numpy()
        gc.collect()
        self.assertEqual(y.sum(), 7000)

    def test_gradients(self):
        x = np.arange(3, dtype=np.float32)
        w = kiln.tensor(x).requires_grad_()
        loss = (w * w + 2 * w).sum()
        loss.backward()
        self.assertEqual(w.grad.numpy().tolist(), [2, 4, 6])
        with self.assertRaisesRegex(kiln.Error, "detach"):
            w.numpy()
        self.assertEqual(address(w.detach().numpy()), address(x))

    def test_capsules_that_no_library_takes_are_freed(self):
        t = self.session.eval("ones(3)")
        for version in (None, (1, 0)):
            capsule = t.__dlpack__(max_version=version)
            self.assertIn("dltensor", repr(capsule))
            del capsule
        self.assertEqual(t.__dlpack_device__(), (1, 0))
        self.assertNotEqual(address(np.from_dlpack(t)), 0)


class Calls(unittest.TestCase):
    def test_many_calls_keep_no_memory(self):
        session = kiln.Session()
        session.eval("fn f(x, y) { return x * y + 1 }")
        x = np.ones(16, dtype=np.float32)

        def call(times):
            for _ in range(times):
                session.f(x, 2.0)
            gc.collect()

        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        call(2000)
        references, memory = sys.getrefcount(x), resident()
        call(100_000)
        self.assertEqual(sys.getrefcount(x), references)
        self.assertLess(resident() - memory, 4 << 20)

    def test_threads_take_turns(self):
        session = kiln.Session()
        session.eval("counts = {'calls': 0}\nfn more(x) { counts['calls'] += 1; return x.sum().item() }")
        sums = []

        def work():
            for _ in range(200):
                sums.append(session.more(np.ones(10)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual((session.counts, set(sums)), ({"calls": 800}, {10.0}))

    def test_interrupts(self):
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            kiln.Session().eval("while true { 1 }")
        timer.join()
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(kiln.eval("1 + 1"), 2)

    def test_the_handler_of_python_stays(self):
        before = signal.getsignal(signal.SIGINT)
        kiln.eval("1")
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        time.sleep(0.1)  # what reads the signals has read this one


if __name__ == "__main__":
    unittest.main()
