"""The node tests of the package onnx as folders that onnx_runner reads."""
import warnings
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper


def write_value(stem: Path, value):
    """A tensor, a sequence (a list) or nothing."""
    if value is None:
        stem.with_name(stem.name + ".none").touch()
    elif isinstance(value, (list, tuple)):
        stem.with_name(stem.name + ".empty").touch()
        for place, item in enumerate(value):
            write_tensor(stem.with_name(f"{stem.name}.{place}.pb"), item)
    else:
        write_tensor(stem.with_name(stem.name + ".pb"), value)


def write_tensor(path: Path, value):
    if not isinstance(value, onnx.TensorProto):
        value = numpy_helper.from_array(numpy.asarray(value))
    path.write_bytes(value.SerializeToString())


def cases():
    """All node tests, in the order of the package."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model_tests(kind="node")


def draws(case):
    """Are its numbers random?"""
    nodes = {node.op_type for node in case.model.graph.node}
    trains = "Dropout" in nodes and case.name.startswith("test_training") and "zero_ratio" not in case.name
    return trains or bool(nodes & {"Bernoulli", "RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal"})


def write_case(case, folder: Path):
    """One folder; returns why there is none, or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol} {'draws' if draws(case) else ''}")
    inputs, outputs = case.data_sets[0]
    for kind, values in (("input", inputs), ("output", outputs)):
        for place, value in enumerate(values):
            try:
                write_value(folder / f"{kind}_{place}", value)
            except Exception as error:  # what numpy_helper has no type for
                return f"the {kind} cannot be written: {error}"
    return None
