#!/usr/bin/env python3
"""Packages of PyPI do their work with Kiln in place of ONNX Runtime: onnx_uses.py [NAME...]

magika names the types of files, silero-vad finds speech beside silence, rapidocr reads a rendered line, and khmersm divides
a sentence of Khmer into words. The code around the models is theirs, but that of silero-vad needs PyTorch: the windows are
cut here as it does. What each tells must be right, and what it computes equal to the runtime's.
"""
# Environment: onnx_models
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tempfile
import wave
import zipfile
from pathlib import Path

import numpy
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from onnx_session import KilnSession  # noqa: E402

RuntimeSession = onnxruntime.InferenceSession
TOLERANCE = 1e-4


def with_session(session, use):
    """What `use()` gives where packages make sessions of this class."""
    onnxruntime.InferenceSession = session
    try:
        return use()
    finally:
        onnxruntime.InferenceSession = RuntimeSession


def with_both(use):
    """What `use()` gives with Kiln and with the runtime. Kiln must have run the models of the first."""
    before = KilnSession.runs
    own = with_session(KilnSession, use)
    assert KilnSession.runs > before, "the package did not ask Kiln"
    return own, with_session(RuntimeSession, use)


def packed(content):
    """A zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.txt", content)
    return file.getvalue()


def picture():
    file = io.BytesIO()
    Image.fromarray(numpy.random.default_rng(0).integers(0, 255, (32, 32, 3), numpy.uint8)).save(file, "png")
    return file.getvalue()


def kinds_of_files():
    """Files of the types that they are called by."""
    table = "name,year,price\n" + "".join(f"item {i},{1990 + i},{i * 1.5}\n" for i in range(40))
    page = "<!DOCTYPE html>\n<html>\n<head><title>Words</title></head>\n<body>\n" + "<p>A line</p>\n" * 20 + "</body>\n</html>\n"
    program = '#include <vector>\n#include <iostream>\n\nclass Sum {\n public:\n  void add(int x) { values.push_back(x); }\n\n' \
              ' private:\n  std::vector<int> values;\n};\n\nint main() {\n  std::cout << "sum" << std::endl;\n}\n'
    shell = '#!/usr/bin/env bash\nset -euo pipefail\nfor file in "$@"; do\n  if [ -f "$file" ]; then\n    gzip -k "$file"\n' \
            '  fi\ndone\necho "packed ${#@} files"\n'
    texts = {"python": Path(__file__).read_text(), "json": json.dumps({"names": ["a", "b"], "sizes": list(range(50))}, indent=1),
             "csv": table, "html": page, "cpp": program, "shell": shell}
    return {**{kind: text.encode() for kind, text in texts.items()}, "png": picture(), "zip": packed(table)}


def magika():
    from magika import Magika

    files = kinds_of_files()

    def use():
        namer = Magika()
        return {kind: namer.identify_bytes(content) for kind, content in files.items()}

    own, right = with_both(use)
    for kind, result in own.items():
        assert result.prediction.dl.label == kind, f"a file of {kind} is called {result.prediction.dl.label}"
        away = abs(result.score - right[kind].score)
        assert away <= TOLERANCE, f"the score of {kind} differs by {away}"
    return f"names files of {', '.join(own)}"


RATE = 16000
WINDOW = 512
CONTEXT = 64


def spoken(folder):
    """A second of silence, a spoken sentence, a second of silence; and where the sentence begins and ends."""
    path = Path(folder) / "spoken.wav"
    subprocess.run(["espeak-ng", "-s", "140", "-w", path, "The weather is fine today, and we are going for a walk."], check=True)
    with wave.open(str(path)) as file:
        rate, samples = file.getframerate(), numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16) / 32768
    times = numpy.arange(int(len(samples) / rate * RATE)) / RATE
    sentence = numpy.interp(times, numpy.arange(len(samples)) / rate, samples)
    loud = numpy.flatnonzero(numpy.abs(sentence) > 0.02)
    sentence = sentence[loud[0]:loud[-1]]
    silence = numpy.random.default_rng(0).normal(0, 1e-4, RATE)
    return numpy.concatenate([silence, sentence, silence]).astype(numpy.float32), RATE, RATE + len(sentence)


def speech_of(session, sound):
    """The probability of speech for each window, which the model sees behind the end of the one before."""
    state = numpy.zeros((2, 1, 128), numpy.float32)
    before = numpy.zeros(CONTEXT, numpy.float32)
    found = []
    for start in range(0, len(sound) - WINDOW + 1, WINDOW):
        window = numpy.concatenate([before, sound[start:start + WINDOW]])
        chance, state = session.run(None, {"input": window[None], "state": state, "sr": numpy.array(RATE)})
        found.append(chance.item())
        before = window[-CONTEXT:]
    return numpy.array(found)


def silero():
    if not shutil.which("espeak-ng"):
        return "skipped, espeak-ng (a package of Debian) is missing"
    # The package is not imported, since it imports PyTorch.
    package = importlib.util.find_spec("silero_vad").submodule_search_locations[0]
    model = Path(package) / "data" / "silero_vad.onnx"
    with tempfile.TemporaryDirectory() as folder:
        sound, begins, ends = spoken(folder)
    own, right = with_both(lambda: speech_of(onnxruntime.InferenceSession(str(model)), sound))
    away = numpy.abs(own - right).max()
    assert away <= TOLERANCE, f"probabilities differ by {away}"
    middles = numpy.arange(len(own)) * WINDOW + WINDOW // 2
    inside = (middles > begins) & (middles < ends)
    # Speech is held for a moment after its end, and a sentence has pauses.
    outside = (middles < begins - WINDOW) | (middles > ends + RATE // 4)
    assert (own[inside] > 0.5).mean() > 0.8, f"speech is found in {(own[inside] > 0.5).mean():.0%} of the sentence"
    assert not (own[outside] > 0.5).any(), "speech is found in silence"
    return f"finds {(own[inside] > 0.5).mean():.0%} of a sentence, and no speech in silence; {len(own)} windows differ by {away:.1e}"


LINE = "Kiln reads this line 2048"


def rendered():
    page = Image.new("RGB", (640, 96), "white")
    ImageDraw.Draw(page).text((24, 24), LINE, fill="black", font=ImageFont.load_default(size=40))
    return numpy.asarray(page)


def rapidocr():
    def use():
        from rapidocr.inference_engine.onnxruntime import main as engine

        engine.InferenceSession = onnxruntime.InferenceSession  # it keeps the class under a name of its own
        from rapidocr import RapidOCR

        # Lines are looked for in the picture as it is; it would be enlarged until its short side has 736 pixels.
        return RapidOCR(params={"Global.log_level": "error", "Det.limit_type": "max", "Det.limit_side_len": 640})(rendered())

    own, right = with_both(use)
    text = " ".join(own.txts)
    assert text.replace(" ", "") == LINE.replace(" ", ""), f"read {text!r}, not {LINE!r}"
    assert own.txts == right.txts, f"the runtime reads {right.txts}"
    away = max(abs(a - b) for a, b in zip(own.scores, right.scores))
    assert away <= TOLERANCE, f"the score differs by {away}"
    return f"reads {text!r}"


SENTENCE = "ខ្ញុំស្រឡាញ់ប្រទេសកម្ពុជា"


def khmersm():
    from khmersm import Segmenter

    own, right = with_both(lambda: Segmenter().segment(SENTENCE))
    assert own == right, f"divides a sentence as {own}, the runtime as {right}"
    assert own.replace(" ", "") == SENTENCE and len(own.split()) > 1, f"divides a sentence as {own}"
    return f"divides a sentence into {len(own.split())} words"


USES = {"magika": magika, "silero": silero, "rapidocr": rapidocr, "khmersm": khmersm}


def main():
    unknown = set(sys.argv[1:]) - set(USES)
    if unknown:
        raise SystemExit(f"onnx_uses.py: there is no use {min(unknown)}, only {', '.join(USES)}")
    failed = 0
    for name in sys.argv[1:] or USES:
        try:
            print(f"{name}: {USES[name]()}", flush=True)
        except (AssertionError, RuntimeError) as error:
            print(f"{name}: wrong: {error}", flush=True)
            failed += 1
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
