#!/usr/bin/env python3
"""Has ONNX Runtime's training build run Kiln's functions with derivatives of their own, as PythonOp and PythonOpGrad.

For each case of programs/python_op.kiln: the model runs in training and evaluation; the gradient that the runtime builds is
Kiln's, as a value and attribute by attribute; the joint graph that Kiln writes gives the same, and so does its portable
form. Contexts are freed.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

KILN = Path(os.environ["KILN"])
PROGRAM = Path(__file__).resolve().parent / "programs" / "python_op.kiln"
sys.path.insert(0, str(KILN.parent))
import kiln_ort  # noqa: E402
from onnxruntime.capi._pybind_state import GradientGraphBuilder, get_shape_inference_function  # noqa: E402

STEPS = 10
ort.set_default_logger_severity(3)


def session(model):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def feeds_of(made, inputs):
    names = [each.name for each in made.get_inputs()]
    feeds = dict(zip(names, inputs))
    for each in made.get_inputs()[len(inputs):]:  # the gradient of the result
        feeds[each.name] = np.ones(each.shape, dtype=np.float32)
    return feeds


def attributes(model, kind):
    found = {}
    for node in model.graph.node:
        if node.op_type != kind:
            continue
        texts = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        found.setdefault(texts["func_name"], []).append(texts)
    return found


def same(case, what, got, wanted):
    if wanted is None:
        return
    wanted = np.array(wanted, dtype=np.float32)
    got = np.array(got).reshape(wanted.shape)
    worst = np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30)
    assert worst < 1e-5, f"{case}: {what} differs by {worst:.1e} of the largest: {got} and {wanted}"


def check_shapes(program, folder):
    """The runtime's shape inference asks a function that says the shapes of its results, and guesses those of others."""
    model = onnx.load_from_string(program.load(folder / "one.onnx"))
    node = next(each for each in model.graph.node if each.op_type == "PythonOp")
    assert get_shape_inference_function("Cube")(node, [["n", 3]], [onnx.TensorProto.FLOAT]) == ([["n", 3]], [onnx.TensorProto.FLOAT])
    program.load(folder / "two_results.onnx")
    assert get_shape_inference_function("TwoResults") is None


def runtime_gradient(model):
    """The model with the gradient that the runtime builds."""
    graph = onnx.load_from_string(model).graph
    loss = graph.output[0].name
    builder = GradientGraphBuilder(model, {loss}, {each.name for each in graph.input}, loss)
    builder.build()
    return builder.get_model()


def run_case(program, folder, case, told):
    inputs = [np.array(each, dtype=np.float32) for each in told["inputs"]]
    evaluation = session(program.load(folder / f"{case}_evaluation.onnx"))
    same(case, "evaluation", evaluation.run(None, feeds_of(evaluation, inputs))[0], told["loss"])
    assert program.live_contexts == 0, f"{case}: evaluation keeps contexts"

    model = program.load(folder / f"{case}.onnx")
    training = runtime_gradient(model)
    names = [each.name for each in onnx.load_from_string(model).graph.input]
    wanted = [f"{each}_grad" for each in names]
    made = session(training)
    for _ in range(STEPS):
        results = made.run(wanted, feeds_of(made, inputs))
        for got, gradient in zip(results, told["gradients"]):
            same(case, "the runtime's gradient", got, gradient)
    assert program.live_contexts == 0, f"{case}: {program.live_contexts} contexts are left"

    run_joint(program, folder, case, told, attributes(onnx.load_from_string(training), "PythonOpGrad"))


def run_joint(program, folder, case, told, theirs):
    """What Kiln writes of the derivative; `theirs` are the nodes that the runtime builds."""
    inputs = [np.array(each, dtype=np.float32) for each in told["inputs"]]
    joint = program.load(folder / f"{case}_joint.onnx")
    models = {"joint graph": joint}
    portable = folder / f"{case}_portable.onnx"
    if portable.exists():  # of a function that only the interpreter has there is none
        models["portable form"] = portable.read_bytes()
    for what, model in models.items():
        made = session(model)
        for _ in range(STEPS):
            squares, *gradients = made.run(None, feeds_of(made, inputs))
            same(case, f"the {what}'s loss", squares.sum(), told["loss"])
            for got, gradient in zip(gradients, told["gradients"]):
                same(case, f"the {what}'s gradient", got, gradient)
        assert program.live_contexts == 0, f"{case}: the {what} leaves {program.live_contexts} contexts"
    ours = attributes(onnx.load_from_string(joint), "PythonOpGrad")
    for name, nodes in ours.items():
        for node in nodes:
            assert node in theirs[name], f"{case}: PythonOpGrad of {name}\n  Kiln {node}\n  runtime {theirs[name]}"


def check_registry(program, folder):
    """A program without the object that a model names is told which argument it is."""
    bare = folder / "bare.kiln"
    text = PROGRAM.read_text().replace('onnx_register("workers", [4.0, 5.0])', "[4.0, 5.0]")
    bare.write_text(text)
    (folder / "other_functions.kiln").write_text((PROGRAM.parent / "other_functions.kiln").read_text())
    other = kiln_ort.Program(bare)
    try:
        other.load(folder / "constants.onnx")
        raise AssertionError("a model was loaded whose object nothing has registered")
    except RuntimeError as error:
        assert "argument `group` of Scale" in str(error), error
    other.close()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([KILN, PROGRAM, folder], check=True)
        program = kiln_ort.Program(PROGRAM)
        failed = 0
        cases = json.loads((folder / "cases.json").read_text())
        for case in cases:
            try:
                run_case(program, folder, case, json.loads((folder / f"{case}.json").read_text()))
            except Exception as error:  # noqa: BLE001
                failed += 1
                print(f"{case}: {error}")
        check_registry(program, folder)
        check_shapes(program, folder)
        print(f"{len(cases) - failed} of {len(cases)} cases run in ONNX Runtime {ort.__version__} as in Kiln")
        raise SystemExit(failed > 0 or not cases)


if __name__ == "__main__":
    main()
