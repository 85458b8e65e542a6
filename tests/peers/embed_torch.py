#!/usr/bin/env python3
# Environment: torch
"""The package for Python with tensors of PyTorch: memory is shared both ways, and gradients stop at the border."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("KILN_LIBRARY", str(Path(os.environ["KILN"]).parent / "libkiln.so.1"))
sys.path.insert(0, str(ROOT / "embed" / "python"))
import kiln  # noqa: E402
import torch  # noqa: E402
from kiln.torch import wrap  # noqa: E402
from torch.utils.dlpack import from_dlpack  # noqa: E402

session = kiln.Session()
session.eval("fn where(x) = x.data_ptr()\nfn add_(x) { x += 1 }\nfn double(x) = x * 2\nfn layer(x, w) = (x @ w).relu()")

for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
              torch.uint8):  # fmt: skip
    x = torch.arange(6).reshape(2, 3).to(dtype)
    assert session.where(x) == x.data_ptr(), dtype
    assert torch.equal(from_dlpack(session.double(x)), x * 2), dtype
x = torch.arange(6.0).reshape(2, 3)
session.add_(x.t()[1:])
assert x.tolist() == [[0, 2, 3], [3, 5, 6]]

y = session.double(x)
back = from_dlpack(y)
assert back.data_ptr() == y.data_ptr()
back[0, 0] = 7
assert y[0, 0].item() == 7
del y
assert back[0, 0] == 7

w = torch.randn(3, 4)
assert torch.allclose(from_dlpack(session.layer(x, w)), (x @ w).relu(), rtol=1e-5)
try:
    session.double(w.requires_grad_())
except Exception as error:
    assert "gradient" in str(error), error
else:
    raise AssertionError("a tensor with a gradient was taken")
assert session.where(w.detach()) == w.data_ptr()

# Gradients: those of Kiln, in a graph of PyTorch's.
session.eval("fn mixed(x, w) { h = (x @ w).tanh(); return h, (h * h).sum() }")
mixed = wrap(session.mixed)
x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
w = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
h, s = mixed(x * 2, w)
((h * 3).sum() + s).backward()
found = [x.grad, w.grad]
x.grad = w.grad = None
h = torch.tanh((x * 2) @ w)
((h * 3).sum() + (h * h).sum()).backward()
for a, b in zip(found, [x.grad, w.grad]):
    assert torch.allclose(a, b, rtol=1e-12, atol=1e-12), (a, b)
assert torch.autograd.gradcheck(wrap(session.eval("x => (x * x).sin().sum(dim=0)")), x)
assert not mixed(x.detach(), w.detach())[0].requires_grad
print(f"PyTorch {torch.__version__}")
