# As pointwise.kiln.
import os
import time

import torch
import torch.nn.functional as F

n = 1 << 22
runs = 5 if os.environ.get("KILN_BENCH_QUICK") else 11
chosen = os.environ.get("KILN_BENCH_OPS", "").split()
k = torch.arange(n)
u = (k * 48271 % 65521).to(torch.float64) / 65521
v = (k * 69621 % 65519).to(torch.float64) / 65519


def timed(name, f):
    if chosen and name not in chosen:
        return
    r = f()
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        r = f()
        best = min(best, time.perf_counter() - started)
    print(name, f"{best:.12f}", r.to(torch.float64).mean().item())


def floats(d, label):
    x = (u * 6 - 3).to(d)  # anything
    y = (v * 6 - 3).to(d)
    p = (u * 4 + 0.1).to(d)  # positive
    q = (v * 4 + 0.1).to(d)
    s = (u * 1.8 - 0.9).to(d)  # inside of (-1, 1)
    m = x > 0
    ops = {
        "neg": lambda: -x, "abs": lambda: torch.abs(x), "sign": lambda: torch.sign(x), "sqrt": lambda: torch.sqrt(p),
        "rsqrt": lambda: torch.rsqrt(p), "square": lambda: torch.square(x), "reciprocal": lambda: torch.reciprocal(p),
        "exp": lambda: torch.exp(x), "exp2": lambda: torch.exp2(x), "expm1": lambda: torch.expm1(x),
        "log": lambda: torch.log(p), "log2": lambda: torch.log2(p), "log10": lambda: torch.log10(p),
        "log1p": lambda: torch.log1p(p), "sin": lambda: torch.sin(x), "cos": lambda: torch.cos(x),
        "tan": lambda: torch.tan(s), "asin": lambda: torch.asin(s), "acos": lambda: torch.acos(s),
        "atan": lambda: torch.atan(x), "sinh": lambda: torch.sinh(x), "cosh": lambda: torch.cosh(x),
        "tanh": lambda: torch.tanh(x), "asinh": lambda: torch.asinh(x), "acosh": lambda: torch.acosh(p + 1),
        "atanh": lambda: torch.atanh(s), "erf": lambda: torch.erf(x), "erfc": lambda: torch.erfc(x),
        "lgamma": lambda: torch.lgamma(p), "digamma": lambda: torch.digamma(p),
        "polygamma": lambda: torch.polygamma(1, p), "sigmoid": lambda: torch.sigmoid(x),
        "log_sigmoid": lambda: F.logsigmoid(x), "relu": lambda: torch.relu(x), "gelu": lambda: F.gelu(x),
        "gelu_tanh": lambda: F.gelu(x, approximate="tanh"), "silu": lambda: F.silu(x),
        "softplus": lambda: F.softplus(x), "elu": lambda: F.elu(x), "leaky_relu": lambda: F.leaky_relu(x),
        "floor": lambda: torch.floor(x), "ceil": lambda: torch.ceil(x), "round": lambda: torch.round(x),
        "round_decimals": lambda: torch.round(x, decimals=2), "trunc": lambda: torch.trunc(x),
        "frac": lambda: torch.frac(x), "isnan": lambda: torch.isnan(x), "isinf": lambda: torch.isinf(x),
        "isfinite": lambda: torch.isfinite(x), "nan_to_num": lambda: torch.nan_to_num(x),
        "logical_not": lambda: torch.logical_not(x), "add": lambda: x + y, "add_number": lambda: x + 2.5,
        "add_alpha": lambda: torch.add(x, y, alpha=2.5), "sub": lambda: x - y, "mul": lambda: x * y,
        "mul_number": lambda: x * 2.5, "div": lambda: x / q, "div_number": lambda: x / 2.5,
        "div_floor": lambda: torch.div(x, q, rounding_mode="floor"),
        "div_trunc": lambda: torch.div(p, q, rounding_mode="trunc"), "floor_div": lambda: x // q,
        "remainder": lambda: x % q, "fmod": lambda: torch.fmod(x, q), "pow": lambda: p ** y, "pow_2": lambda: x ** 2,
        "pow_3": lambda: x ** 3, "pow_number": lambda: p ** 1.75, "maximum": lambda: torch.maximum(x, y),
        "minimum": lambda: torch.minimum(x, y), "atan2": lambda: torch.atan2(y, x),
        "hypot": lambda: torch.hypot(x, y), "copysign": lambda: torch.copysign(x, y), "eq": lambda: x == y,
        "ne": lambda: x != y, "lt": lambda: x < y, "lt_number": lambda: x < 0.5, "le": lambda: x <= y,
        "gt": lambda: x > y, "ge": lambda: x >= y, "logical_and": lambda: torch.logical_and(x, y),
        "logical_or": lambda: torch.logical_or(x, y), "logical_xor": lambda: torch.logical_xor(x, y),
        "where": lambda: torch.where(m, x, y), "where_number": lambda: torch.where(m, x, 0.0),
        "masked_fill": lambda: torch.masked_fill(x, m, 0.5), "lerp": lambda: torch.lerp(x, y, q),
        "lerp_number": lambda: torch.lerp(x, y, 0.3), "clamp": lambda: torch.clamp(x, -1.0, 1.0),
        "clamp_min": lambda: torch.clamp(x, min=0.25),
    }
    for name, f in ops.items():
        timed(name + "." + label, f)



def integers(d, label):
    x = (u * 120).to(d)
    y = (v * 120).to(d)
    q = (v * 9 + 1).to(d)
    t = (v * 5).to(d)
    m = x > y
    ops = {
        "neg": lambda: -x, "abs": lambda: torch.abs(x), "sign": lambda: torch.sign(x),
        "square": lambda: torch.square(x), "relu": lambda: torch.relu(x), "exp": lambda: torch.exp(t),
        "logical_not": lambda: torch.logical_not(x), "bitwise_not": lambda: ~x, "add": lambda: x + y,
        "add_number": lambda: x + 3, "sub": lambda: x - y, "mul": lambda: x * y, "mul_number": lambda: x * 3,
        "div": lambda: x / q, "floor_div": lambda: x // q, "floor_div_number": lambda: x // 7,
        "remainder": lambda: x % q, "remainder_number": lambda: x % 7, "fmod": lambda: torch.fmod(x, q),
        "pow": lambda: q ** t, "pow_2": lambda: x ** 2, "maximum": lambda: torch.maximum(x, y),
        "minimum": lambda: torch.minimum(x, y), "eq": lambda: x == y, "ne": lambda: x != y, "lt": lambda: x < y,
        "lt_number": lambda: x < 60, "le": lambda: x <= y, "gt": lambda: x > y, "ge": lambda: x >= y,
        "logical_and": lambda: torch.logical_and(x, y), "logical_or": lambda: torch.logical_or(x, y),
        "logical_xor": lambda: torch.logical_xor(x, y), "bitwise_and": lambda: x & y, "bitwise_or": lambda: x | y,
        "bitwise_xor": lambda: x ^ y, "left_shift": lambda: x << t, "right_shift": lambda: x >> t,
        "where": lambda: torch.where(m, x, y), "masked_fill": lambda: torch.masked_fill(x, m, 5),
        "clamp": lambda: torch.clamp(x, 20, 90),
    }
    for name, f in ops.items():
        timed(name + "." + label, f)



def bools():
    x = u < 0.5
    y = v < 0.5
    ops = {
        "logical_not": lambda: torch.logical_not(x), "bitwise_not": lambda: ~x, "add": lambda: x + y,
        "mul": lambda: x * y, "maximum": lambda: torch.maximum(x, y), "minimum": lambda: torch.minimum(x, y),
        "eq": lambda: x == y, "ne": lambda: x != y, "lt": lambda: x < y,
        "logical_and": lambda: torch.logical_and(x, y), "logical_or": lambda: torch.logical_or(x, y),
        "logical_xor": lambda: torch.logical_xor(x, y), "bitwise_and": lambda: x & y, "bitwise_or": lambda: x | y,
        "bitwise_xor": lambda: x ^ y, "where": lambda: torch.where(x, y, x),
        "masked_fill": lambda: torch.masked_fill(x, y, True),
    }
    for name, f in ops.items():
        timed(name + ".bool", f)


floats(torch.float32, "f32")
floats(torch.float64, "f64")
floats(torch.float16, "f16")
floats(torch.bfloat16, "bf16")
integers(torch.uint8, "u8")
integers(torch.int8, "i8")
integers(torch.int16, "i16")
integers(torch.int32, "i32")
integers(torch.int64, "i64")
bools()
