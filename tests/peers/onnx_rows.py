#!/usr/bin/env python3
"""Exports each row of the op table with its samples and runs it by ONNX Runtime: onnx_rows.py [--opsets N,...] [ROW...]

A row counts as equal when the checker of the package onnx takes the model of each of its samples, and the runtime gives
Kiln's results within 1e-5 of the largest element; vectors that are determined up to their sign have Kiln's sign. Fails when
a model that was written is not equal, or, at the opsets that have operators on bits, fewer than 95 % of the rows are. Tells
why rows are not.
"""
# Environment: onnx
import argparse
import collections
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parent.parent.parent
WRITER = Path(os.environ.get("KILN_ONNX_ROWS", ROOT / "build/tests/onnx_rows"))
LEAST, LEAST_FROM = 0.95, 18
TOLERANCE = 1e-5
# By row: (output, axis along a vector) of those whose signs change together.
UP_TO_SIGN = {"eigh": [(1, -2)], "thin_svd": [(0, -2), (2, -1)], "svd": [(0, -2), (2, -1)]}


def with_signs_of(wanted, results, row):
    """The results, each vector with the sign that it has in `wanted`: the first of its outputs says which."""
    results, signs = list(results), None
    for output, axis in UP_TO_SIGN.get(row, []):
        vectors = numpy.moveaxis(results[output], axis, -1)  # [..., vector, element]
        likeness = (vectors * numpy.moveaxis(wanted[output], axis, -1)).sum(-1)
        own = numpy.where(likeness < 0, -1, 1).astype(vectors.dtype)
        if signs is not None:
            shared = min(own.shape[-1], signs.shape[-1])
            own[..., :shared] = signs[..., :shared]
        signs = own
        results[output] = numpy.moveaxis(vectors * own[..., None], -1, axis)
    return results


def differs(got, wanted):
    """The largest difference as a share of the largest element; what is no number must be the same."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} in place of {wanted.dtype}{list(wanted.shape)}"
    if got.size == 0:
        return None
    a, b = got.astype(numpy.float64), wanted.astype(numpy.float64)
    is_finite = numpy.isfinite(b)
    if not numpy.array_equal(a[~is_finite], b[~is_finite], equal_nan=True):
        return "other infinities or nans"
    if not is_finite.any():
        return None
    share = numpy.abs(a - b)[is_finite].max() / max(numpy.abs(b[is_finite]).max(), 1e-30)
    return None if share <= TOLERANCE else f"differs by {share:.1e} of the largest element"


def run(model_file):
    """Why the model is not equal to what Kiln computed, or None."""
    model = onnx.load(model_file)
    data = onnx.load(model_file.parent / (model_file.name.removesuffix(".onnx") + ".data.onnx"))
    tensors = {each.name: numpy_helper.to_array(each) for each in data.graph.initializer}
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # the checker raises several kinds
        return "checker: " + str(error).strip().splitlines()[-1][:160]
    defaults = {each.name for each in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in defaults]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, {name: tensors[f"input{i}"] for i, name in enumerate(names)})
    except Exception as error:  # the runtime raises several kinds
        return "runtime: " + str(error).strip().splitlines()[0][:200]
    wanted = [tensors[f"result{i}"] for i in range(len(results))]
    results = with_signs_of(wanted, results, model_file.name.rsplit("-", 1)[0])
    return next((text for text in map(differs, results, wanted) if text), None)


def try_rows(opset, wanted):
    """Why rows are not equal at an opset, by row, how many rows there are, and how many have a model that is not equal."""
    reasons, wrong = collections.defaultdict(list), set()
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run([WRITER, folder, str(opset), *wanted], capture_output=True, text=True, check=True).stdout
        for line in told.splitlines():
            name, _, reason = line.partition(": ")
            reasons[name.rsplit("-", 1)[0]].append(reason)
        rows = set(reasons)
        for file in sorted(Path(folder).glob("*.onnx")):
            if file.name.endswith(".data.onnx"):
                continue
            row = file.name.rsplit("-", 1)[0]
            rows.add(row)
            if reason := run(file):
                reasons[row].append(f"{file.name}: {reason}")
                wrong.add(row)
    return reasons, len(rows), len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opsets", default="13,17,18,20,21,23", help="separated by commas")
    parser.add_argument("rows", nargs="*")
    wishes = parser.parse_args()
    is_enough = True
    for opset in map(int, wishes.opsets.split(",")):
        reasons, count, wrong = try_rows(opset, wishes.rows)
        if count == 0:
            sys.exit(f"there is no row of these names: {', '.join(wishes.rows)}")
        for row, all_reasons in sorted(reasons.items()):
            more = f" (and {len(all_reasons) - 1} more)" if len(all_reasons) > 1 else ""
            print(f"opset {opset}: {row}: {all_reasons[0]}{more}")
        equal = count - len(reasons)
        print(f"opset {opset}: {equal} of {count} rows are equal, {equal / count:.1%}, {wrong} are wrong", flush=True)
        is_enough = is_enough and wrong == 0 and (wishes.rows or opset < LEAST_FROM or equal / count >= LEAST)
    sys.exit(0 if is_enough else 1)


main()
