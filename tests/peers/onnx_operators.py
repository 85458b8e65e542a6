#!/usr/bin/env python3
"""Operators that the node tests of the package onnx leave out, run by Kiln and by ONNX Runtime on models made here: onnx_operators.py [NAME...]

Each model runs node by node, as a graph and as compiled kernels. Floats must be equal within 1e-6 of the largest element (1e-3 where the runtime
quantizes as it runs), whole numbers exactly.
"""
# Environment: onnx
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

KILN = Path(os.environ["KILN"]).resolve()
RANDOM = numpy.random.default_rng(0)
ML = "ai.onnx.ml"
OPSETS = [helper.make_opsetid("", 20), helper.make_opsetid(ML, 3), helper.make_opsetid("com.microsoft", 1)]


def real(*sizes):
    return RANDOM.standard_normal(sizes).astype(numpy.float32)


def model_of(nodes, inputs, outputs, weights=()):
    of = helper.np_dtype_to_tensor_dtype
    values = [helper.make_tensor_value_info(name, of(x.dtype), x.shape) for name, x in inputs.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "operators", values, results, [numpy_helper.from_array(x, name) for name, x in dict(weights).items()])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=9)


def ml(operator, x, outputs, **attributes):
    node = helper.make_node(operator, ["x"], list(outputs), domain=ML, **attributes)
    return model_of([node], {"x": x}, outputs), {"x": x}


def trees(kind, depth=3, count=4, targets=3):
    """Whole binary trees, with votes at their leaves."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    votes = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    inner = 2**depth - 1
    for tree in range(count):
        for node in range(2 * inner + 1):
            leaf = node >= inner
            number = float(RANDOM.integers(-1, 2))
            row = (tree, node, 0 if leaf else int(RANDOM.integers(4)), "LEAF" if leaf else modes[RANDOM.integers(6)],
                   0.0 if leaf else number, 0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, int(RANDOM.integers(2)))
            for name, value in zip(nodes, row):
                nodes[name].append(value)
            if leaf:
                for name, value in zip(votes, (tree, node, int(RANDOM.integers(targets)), float(RANDOM.standard_normal()))):
                    votes[name].append(value)
    return {f"nodes_{name}": values for name, values in nodes.items()} | {f"{kind}_{name}": values for name, values in votes.items()}


def table():
    """Small whole numbers, so that equal ones and numbers of the trees meet; some are missing."""
    x = RANDOM.integers(-2, 3, (16, 4)).astype(numpy.float32)
    x[RANDOM.random(x.shape) < 0.1] = numpy.nan
    return x


def lstm(directions, batch=1, zero_points=True, scales_of_rows=False):
    steps, inputs, hidden = 7, 10, 6
    kind = numpy.uint8 if zero_points else numpy.int8
    weights = {}
    for name, rows in (("w", inputs), ("r", hidden)):
        low, high = (0, 256) if zero_points else (-128, 128)
        weights[name] = RANDOM.integers(low, high, (directions, rows, 4 * hidden)).astype(kind)
        sizes = (directions, 4 * hidden) if scales_of_rows else (directions,)
        weights[name + "_scale"] = (RANDOM.random(sizes) * 0.01 + 0.002).astype(numpy.float32)
        weights[name + "_zero"] = numpy.full(sizes, 120 if zero_points else 0, kind)
    weights["b"] = real(directions, 8 * hidden)
    node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"],
                            ["y", "h", "c"], domain="com.microsoft", hidden_size=hidden,
                            direction="bidirectional" if directions == 2 else "forward")
    x = real(steps, batch, inputs)
    outputs = {"y": TensorProto.FLOAT, "h": TensorProto.FLOAT, "c": TensorProto.FLOAT}
    return model_of([node], {"x": x}, outputs, weights), {"x": x}


def roi_align(**attributes):
    given = {"x": real(2, 3, 12, 10), "rois": (RANDOM.random((5, 4)) * 5 + [[0, 0, 6, 6]]).astype(numpy.float32),
             "images": numpy.array([0, 1, 1, 0, 1])}
    node = helper.make_node("RoiAlign", list(given), ["y"], output_height=3, output_width=2, **attributes)
    return model_of([node], given, {"y": TensorProto.FLOAT}), given


def suppression(center):
    given = {"boxes": RANDOM.random((2, 40, 4)).astype(numpy.float32), "scores": RANDOM.random((2, 3, 40)).astype(numpy.float32)}
    given["scores"][:, :, 20:] = given["scores"][:, :, :20]
    limits = {"most": numpy.array(8), "overlap": numpy.array(0.2, numpy.float32), "least": numpy.array(0.3, numpy.float32)}
    node = helper.make_node("NonMaxSuppression", [*given, *limits], ["y"], center_point_box=center)
    return model_of([node], given, {"y": TensorProto.INT64}, limits), given


F, I = TensorProto.FLOAT, TensorProto.INT64
SCORES = {"y": I, "z": F}
CASES = {
    "scaler": lambda: ml("Scaler", real(5, 4), {"y": F}, offset=[0.5, 1, -1, 2], scale=[2.0, 0.5, 1, 3]),
    "normalizer_max": lambda: ml("Normalizer", numpy.abs(real(5, 4)), {"y": F}, norm="MAX"),
    "normalizer_l1": lambda: ml("Normalizer", real(5, 4), {"y": F}, norm="L1"),
    "normalizer_l2": lambda: ml("Normalizer", numpy.concatenate([numpy.abs(real(5, 4)), numpy.zeros((1, 4), numpy.float32)]), {"y": F}, norm="L2"),
    "imputer": lambda: ml("Imputer", table(), {"y": F}, imputed_value_floats=[1.0, 2, 3, 4], replaced_value_float=float("nan")),
    "imputer_whole": lambda: ml("Imputer", RANDOM.integers(-1, 3, (6, 4)), {"y": I}, imputed_value_int64s=[7], replaced_value_int64=-1),
    "label_encoder": lambda: ml("LabelEncoder", RANDOM.integers(0, 6, (8,)), {"y": F}, keys_int64s=[1, 2, 4], values_floats=[0.5, 1.5, 2.5], default_float=-3.0),
    "label_encoder_whole": lambda: ml("LabelEncoder", RANDOM.integers(0, 6, (4, 3)), {"y": I}, keys_int64s=[5, 0, 3], values_int64s=[10, 20, 30]),
    "one_hot_encoder": lambda: ml("OneHotEncoder", RANDOM.integers(0, 5, (6,)), {"y": F}, cats_int64s=[3, 1, 2], zeros=1),
    "linear_regressor": lambda: ml("LinearRegressor", real(5, 4), {"y": F}, coefficients=real(8).tolist(), intercepts=[1.0, -1], targets=2),
    "linear_classifier": lambda: ml("LinearClassifier", real(9, 4), SCORES, coefficients=real(12).tolist(), intercepts=[0.1, 0.2, 0.3], classlabels_ints=[4, 7, 9]),
    "linear_classifier_softmax": lambda: ml("LinearClassifier", real(9, 4), SCORES, coefficients=real(12).tolist(), intercepts=[0.1, 0.2, 0.3],
                                            classlabels_ints=[4, 7, 9], post_transform="SOFTMAX"),
    "linear_classifier_logistic": lambda: ml("LinearClassifier", real(9, 4), SCORES, coefficients=real(8).tolist(), intercepts=[0.1, 0.2],
                                             classlabels_ints=[0, 1], post_transform="LOGISTIC"),
    "tree_regressor": lambda: ml("TreeEnsembleRegressor", table(), {"y": F}, n_targets=3, **trees("target")),
    "tree_regressor_average": lambda: ml("TreeEnsembleRegressor", table(), {"y": F}, n_targets=1, aggregate_function="AVERAGE", base_values=[0.5],
                                         **trees("target", targets=1)),
    "tree_regressor_max": lambda: ml("TreeEnsembleRegressor", table(), {"y": F}, n_targets=1, aggregate_function="MAX", **trees("target", targets=1)),
    "tree_classifier": lambda: ml("TreeEnsembleClassifier", table(), SCORES, classlabels_int64s=[3, 5, 8], **trees("class")),
    "tree_classifier_softmax": lambda: ml("TreeEnsembleClassifier", table(), SCORES, classlabels_int64s=[3, 5, 8], post_transform="SOFTMAX", **trees("class")),
    "quantized_lstm": lambda: lstm(1),
    "quantized_lstm_both_ways": lambda: lstm(2),
    "quantized_lstm_scales_of_rows": lambda: lstm(1, zero_points=False, scales_of_rows=True),
    "roi_align": lambda: roi_align(sampling_ratio=2, spatial_scale=0.9),
    "roi_align_adaptive": lambda: roi_align(sampling_ratio=0),
    "roi_align_unaligned": lambda: roi_align(sampling_ratio=0, coordinate_transformation_mode="output_half_pixel"),
    "roi_align_max": lambda: roi_align(sampling_ratio=2, mode="max"),
    "suppression": lambda: suppression(0),
    "suppression_center": lambda: suppression(1),
}


def difference(made, right):
    if made.dtype != right.dtype or made.shape != right.shape:
        return f"is {made.dtype} {made.shape}, not {right.dtype} {right.shape}"
    if not numpy.issubdtype(right.dtype, numpy.floating):
        return "" if numpy.array_equal(made, right) else "has other whole numbers"
    largest = numpy.abs(right).max(initial=0)
    away = numpy.abs(made - right).max(initial=0) / (largest or 1)
    return f"differs by {away:.1e} of the largest element" if not away <= TOLERANCE[0] else ""


TOLERANCE = [1e-6]
PROGRAM = """
fn as_list(x) = x if isinstance(x, tuple) else (x,)
given = [load(f"{folder}/input_{i}.npy") for i in range(count)]
eager = as_list(run_onnx(f"{folder}/model.onnx", *given))
for i, x in enumerate(eager) { save(f"{folder}/eager_{i}.npy", x) }
g = import_onnx(f"{folder}/model.onnx")
for i, x in enumerate(as_list(g(*given))) { save(f"{folder}/graph_{i}.npy", x) }
f = jit(g)
for _ in range(2) { made = as_list(f(*given)) }
for i, x in enumerate(made) { save(f"{folder}/compiled_{i}.npy", x) }
"""


def run(name, folder):
    model, given = CASES[name]()
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for i, x in enumerate(given.values()):
        numpy.save(folder / f"input_{i}.npy", x)
    rights = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, given)
    program = folder / "program.kiln"
    program.write_text(f'folder = "{folder}"\ncount = {len(given)}\n' + PROGRAM)
    made = subprocess.run([KILN, program], capture_output=True, text=True, check=False)
    wrong = []
    for way in ("eager", "graph", "compiled"):
        for i, right in enumerate(rights):
            result = folder / f"{way}_{i}.npy"
            if not result.exists():
                if way == "eager" or name not in NO_GRAPH:
                    wrong.append(f"{way} gives nothing: {made.stderr[:300]}")
                break
            if text := difference(numpy.load(result), right):
                wrong.append(f"{way} result {i} {text}")
    return wrong


# How many results there are depends on elements.
NO_GRAPH = {"suppression", "suppression_center", "roi_align_adaptive", "roi_align_unaligned"}


def main():
    names = [name for name in CASES if not sys.argv[1:] or any(part in name for part in sys.argv[1:])]
    failed = 0
    for name in names:
        TOLERANCE[0] = 1e-3 if name.startswith("quantized") else 1e-6
        with tempfile.TemporaryDirectory() as folder:
            wrong = run(name, Path(folder))
        failed += bool(wrong)
        print(f"{name}: {'; '.join(wrong) or 'right'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
