"""Models of ONNX at the command line."""

import unittest

from process_cases.support import kiln, write


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
            self.assertEqual((code, out, err), (1, "", sentence + "\n"))
        write("junk.onnx", "hello")
        code, _, err = kiln("junk.onnx")
        self.assertEqual(code, 1)
        self.assertRegex(err, "^ValueError: cannot load 'junk.onnx': these bytes are no ONNX model: .*\n$")
