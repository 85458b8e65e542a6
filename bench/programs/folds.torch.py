# As folds.kiln.
import os
import time

import torch

n = 1 << 22
runs = 3 if os.environ.get("KILN_BENCH_QUICK") else 9
chosen = os.environ.get("KILN_BENCH_OPS", "").split()
u = (torch.arange(n) * 48271 % 65521).to(torch.float64) / 65521


def timed(name, f):
    if chosen and name not in chosen:
        return
    try:
        r = f()
    except (RuntimeError, NotImplementedError):  # some dtypes are Kiln's alone
        return
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        r = f()
        best = min(best, time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, f"{best:.12f}", first.to(torch.float64).mean().item())


def each(name, label, x, f):
    timed(f"{name}.rows.{label}", lambda: f(x.view(4096, 1024), 1))
    timed(f"{name}.short.{label}", lambda: f(x.view(-1, 16), 1))
    timed(f"{name}.middle.{label}", lambda: f(x.view(64, 64, 1024), 1))
    timed(f"{name}.columns.{label}", lambda: f(x.view(4096, 1024), 0))


def folds(x, label):
    timed(f"sum.all.{label}", lambda: torch.sum(x))
    timed(f"any.all.{label}", lambda: torch.any(x > 121))
    timed(f"all.all.{label}", lambda: torch.all(x < 121))
    timed(f"count_nonzero.all.{label}", lambda: torch.count_nonzero(x))
    timed(f"max.all.{label}", lambda: torch.max(x))
    timed(f"argmax.all.{label}", lambda: torch.argmax(x))
    each("sum", label, x, lambda x, d: x.sum(dim=d))
    each("max", label, x, lambda x, d: x.max(dim=d))
    each("amax", label, x, lambda x, d: x.amax(dim=d))
    each("argmin", label, x, lambda x, d: x.argmin(dim=d))
    each("any", label, x > 119, lambda x, d: x.any(dim=d))
    each("all", label, x, lambda x, d: x.all(dim=d))
    each("count_nonzero", label, x, lambda x, d: torch.count_nonzero(x, dim=d))
    each("cumsum", label, x, lambda x, d: x.cumsum(dim=d))
    each("cummax", label, x, lambda x, d: x.cummax(dim=d))


def of_floats(x, label):
    timed(f"mean.all.{label}", lambda: torch.mean(x))
    timed(f"var.all.{label}", lambda: torch.var(x))
    timed(f"norm.all.{label}", lambda: torch.norm(x))
    timed(f"logsumexp.all.{label}", lambda: torch.logsumexp(x, 0))
    each("mean", label, x, lambda x, d: x.mean(dim=d))
    each("var", label, x, lambda x, d: x.var(dim=d))
    each("norm", label, x, lambda x, d: torch.norm(x, dim=d))
    each("prod", label, x / 60, lambda x, d: x.prod(dim=d))
    each("logsumexp", label, x, lambda x, d: x.logsumexp(dim=d))
    each("softmax", label, x, lambda x, d: x.softmax(dim=d))
    each("log_softmax", label, x, lambda x, d: x.log_softmax(dim=d))
    each("nansum", label, x, lambda x, d: torch.nansum(x, dim=d))
    each("cumprod", label, x / 60, lambda x, d: x.cumprod(dim=d))


for d, label in [(torch.float32, "f32"), (torch.float64, "f64"), (torch.bfloat16, "bf16"), (torch.float16, "f16")]:
    x = (u * 120).to(d)
    folds(x, label)
    of_floats(x, label)
for d, label in [(torch.int8, "i8"), (torch.uint8, "u8"), (torch.int16, "i16"), (torch.int32, "i32"),
                 (torch.int64, "i64")]:
    folds((u * 120).to(d), label)
m = u > 0.5
timed("sum.all.bool", lambda: torch.sum(m))
timed("any.all.bool", lambda: torch.any(u > 2))
each("sum", "bool", m, lambda x, d: x.sum(dim=d))
each("any", "bool", m, lambda x, d: x.any(dim=d))
each("all", "bool", m, lambda x, d: x.all(dim=d))
each("count_nonzero", "bool", m, lambda x, d: torch.count_nonzero(x, dim=d))
