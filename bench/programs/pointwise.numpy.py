# As pointwise.kiln: what NumPy has of it, on one thread.
import os
import time

import numpy as np

n = 1 << 22
runs = 5 if os.environ.get("KILN_BENCH_QUICK") else 11
chosen = os.environ.get("KILN_BENCH_OPS", "").split()
k = np.arange(n)
u = (k * 48271 % 65521).astype(np.float64) / 65521
v = (k * 69621 % 65519).astype(np.float64) / 65519


def timed(name, f):
    if chosen and name not in chosen:
        return
    r = f()
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        r = f()
        best = min(best, time.perf_counter() - started)
    print(name, f"{best:.12f}", r.astype(np.float64).mean().item())


def floats(d, label):
    x = (u * 6 - 3).astype(d)  # anything
    y = (v * 6 - 3).astype(d)
    p = (u * 4 + 0.1).astype(d)  # positive
    q = (v * 4 + 0.1).astype(d)
    s = (u * 1.8 - 0.9).astype(d)  # inside of (-1, 1)
    m = x > 0
    ops = {
        "neg": lambda: -x, "abs": lambda: np.abs(x), "sign": lambda: np.sign(x), "sqrt": lambda: np.sqrt(p),
        "square": lambda: np.square(x), "reciprocal": lambda: np.reciprocal(p), "exp": lambda: np.exp(x),
        "exp2": lambda: np.exp2(x), "expm1": lambda: np.expm1(x), "log": lambda: np.log(p),
        "log2": lambda: np.log2(p), "log10": lambda: np.log10(p), "log1p": lambda: np.log1p(p),
        "sin": lambda: np.sin(x), "cos": lambda: np.cos(x), "tan": lambda: np.tan(s), "asin": lambda: np.arcsin(s),
        "acos": lambda: np.arccos(s), "atan": lambda: np.arctan(x), "sinh": lambda: np.sinh(x),
        "cosh": lambda: np.cosh(x), "tanh": lambda: np.tanh(x), "asinh": lambda: np.arcsinh(x),
        "acosh": lambda: np.arccosh(p + 1), "atanh": lambda: np.arctanh(s), "relu": lambda: np.maximum(x, 0),
        "floor": lambda: np.floor(x), "ceil": lambda: np.ceil(x), "round": lambda: np.round(x),
        "trunc": lambda: np.trunc(x), "isnan": lambda: np.isnan(x), "isinf": lambda: np.isinf(x),
        "isfinite": lambda: np.isfinite(x), "nan_to_num": lambda: np.nan_to_num(x),
        "logical_not": lambda: np.logical_not(x), "add": lambda: x + y, "add_number": lambda: x + 2.5,
        "sub": lambda: x - y, "mul": lambda: x * y, "mul_number": lambda: x * 2.5, "div": lambda: x / q,
        "div_number": lambda: x / 2.5, "floor_div": lambda: x // q, "remainder": lambda: x % q,
        "fmod": lambda: np.fmod(x, q), "pow": lambda: p ** y, "pow_2": lambda: x ** 2, "pow_3": lambda: x ** 3,
        "pow_number": lambda: p ** 1.75, "maximum": lambda: np.maximum(x, y), "minimum": lambda: np.minimum(x, y),
        "atan2": lambda: np.arctan2(y, x), "hypot": lambda: np.hypot(x, y), "copysign": lambda: np.copysign(x, y),
        "eq": lambda: x == y, "ne": lambda: x != y, "lt": lambda: x < y, "lt_number": lambda: x < 0.5,
        "le": lambda: x <= y, "gt": lambda: x > y, "ge": lambda: x >= y, "logical_and": lambda: np.logical_and(x, y),
        "logical_or": lambda: np.logical_or(x, y), "logical_xor": lambda: np.logical_xor(x, y),
        "where": lambda: np.where(m, x, y), "where_number": lambda: np.where(m, x, d(0)),
        "masked_fill": lambda: np.where(m, d(0.5), x), "clamp": lambda: np.clip(x, -1.0, 1.0),
        "clamp_min": lambda: np.maximum(x, 0.25),
    }
    for name, f in ops.items():
        timed(name + "." + label, f)


def integers(d, label):
    x = (u * 120).astype(d)
    y = (v * 120).astype(d)
    q = (v * 9 + 1).astype(d)
    t = (v * 5).astype(d)
    m = x > y
    ops = {
        "neg": lambda: -x, "abs": lambda: np.abs(x), "sign": lambda: np.sign(x), "square": lambda: np.square(x),
        "relu": lambda: np.maximum(x, 0), "exp": lambda: np.exp(t), "logical_not": lambda: np.logical_not(x),
        "bitwise_not": lambda: ~x, "add": lambda: x + y, "add_number": lambda: x + 3, "sub": lambda: x - y,
        "mul": lambda: x * y, "mul_number": lambda: x * 3, "div": lambda: x / q, "floor_div": lambda: x // q,
        "floor_div_number": lambda: x // 7, "remainder": lambda: x % q, "remainder_number": lambda: x % 7,
        "fmod": lambda: np.fmod(x, q), "pow": lambda: q ** t, "pow_2": lambda: x ** 2,
        "maximum": lambda: np.maximum(x, y), "minimum": lambda: np.minimum(x, y), "eq": lambda: x == y,
        "ne": lambda: x != y, "lt": lambda: x < y, "lt_number": lambda: x < 60, "le": lambda: x <= y,
        "gt": lambda: x > y, "ge": lambda: x >= y, "logical_and": lambda: np.logical_and(x, y),
        "logical_or": lambda: np.logical_or(x, y), "logical_xor": lambda: np.logical_xor(x, y),
        "bitwise_and": lambda: x & y, "bitwise_or": lambda: x | y, "bitwise_xor": lambda: x ^ y,
        "left_shift": lambda: x << t, "right_shift": lambda: x >> t, "where": lambda: np.where(m, x, y),
        "masked_fill": lambda: np.where(m, d(5), x), "clamp": lambda: np.clip(x, 20, 90),
    }
    for name, f in ops.items():
        timed(name + "." + label, f)


def bools():
    x = u < 0.5
    y = v < 0.5
    ops = {
        "logical_not": lambda: np.logical_not(x), "bitwise_not": lambda: ~x, "add": lambda: x + y,
        "mul": lambda: x * y, "maximum": lambda: np.maximum(x, y), "minimum": lambda: np.minimum(x, y),
        "eq": lambda: x == y, "ne": lambda: x != y, "lt": lambda: x < y, "logical_and": lambda: np.logical_and(x, y),
        "logical_or": lambda: np.logical_or(x, y), "logical_xor": lambda: np.logical_xor(x, y),
        "bitwise_and": lambda: x & y, "bitwise_or": lambda: x | y, "bitwise_xor": lambda: x ^ y,
        "where": lambda: np.where(x, y, x), "masked_fill": lambda: np.where(y, True, x),
    }
    for name, f in ops.items():
        timed(name + ".bool", f)


floats(np.float32, "f32")
floats(np.float64, "f64")
floats(np.float16, "f16")
integers(np.uint8, "u8")
integers(np.int8, "i8")
integers(np.int16, "i16")
integers(np.int32, "i32")
integers(np.int64, "i64")
bools()
