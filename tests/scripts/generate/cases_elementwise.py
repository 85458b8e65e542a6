"""Expressions over the elementwise ops: every dtype, promotion, special values, in-place forms."""
from itertools import product

DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
INTEGERS = ["u8", "i8", "i16", "i32", "i64"]
FLOATS = ["f16", "bf16", "f32", "f64"]

SPECIAL = "[0.0, -0.0, 1.0, -1.0, 0.5, -2.5, inf, -inf, nan]"
FLOAT_UNARY = ["sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
    "tan", "asin",
               "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "digamma",
               "sigmoid"]
SAME_UNARY = ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "round", "trunc", "frac"]
PREDICATES = ["isnan", "isinf", "isfinite", "logical_not"]
ACTIVATIONS = ["log_sigmoid", "gelu", "silu", "softplus", "elu", "leaky_relu"]
ARITHMETIC = ["add", "sub", "mul", "div", "floor_div", "remainder", "fmod", "pow", "maximum", "minimum", "atan2",
    "hypot", "copysign"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]


def special():
    """Infinities, nan and both zeros, and where each function is steep, flat or at the end of its range."""
    for name in FLOAT_UNARY + SAME_UNARY + PREDICATES + ACTIVATIONS:
        yield f"{name}(tensor({SPECIAL}))"
        yield f"{name}(tensor({SPECIAL}, dtype=f64))"
    yield from [
        "round(tensor([0.5, 1.5, 2.5, -0.5, -1.5]))", "round(tensor([1.2345, -2.345]), decimals=2)",
        "round(tensor([1234.5, 1750.0]), decimals=-2)", "round(tensor([1.25, 0.375], dtype=f64), decimals=2)",
        "round(tensor([15, 25]), decimals=0)", "round(tensor([15, 25]), decimals=1)",
        "tensor([1.26]).round(decimals=1)",
        "nan_to_num(tensor([nan, inf, -inf, 1.0]))", "nan_to_num(tensor([nan, inf, -inf, 1.0], dtype=f16))",
        "nan_to_num(tensor([nan, inf, -inf, 1.0], dtype=bf16))", "nan_to_num(tensor([nan, inf, -inf], dtype=f64))",
        "nan_to_num(tensor([nan, inf, -inf]), nan=1.5)", "nan_to_num(tensor([nan, inf, -inf]), posinf=2.0)",
        "nan_to_num(tensor([nan, inf, -inf]), 7.0, 8.0, -9.0)", "nan_to_num(tensor([1, 2]))",
        "nan_to_num(tensor([true]))",
        "nan_to_num(tensor([nan, inf]), nan=nan, posinf=inf)", "tensor([nan, 1.0]).nan_to_num_(nan=3.0)",
        "frac(tensor([1.75, -1.75, inf, nan]))", "frac(tensor([1, 2]))", "sign(tensor([nan, -0.0, 0.0]))",
        "sign(tensor([true, false]))",
        "neg(tensor([true]))", "-tensor([true])", "-tensor([1, 2], dtype=u8)", "~tensor([1.0])",
        "~tensor([true, false])", "~tensor([5], dtype=u8)",
        "+tensor([true])", "+tensor([1.5, -2.0])", "abs(tensor([true, false]))",
        "gelu(tensor([-1.0, 0.5, 3.0]), approximate=\"tanh\")", "gelu(tensor([-1.0, 0.5]), approximate=\"none\")",
        "gelu(tensor([1.0]), approximate=\"erf\")",
        "softplus(tensor([-1.0, 0.5, 25.0]), beta=2.0)", "softplus(tensor([1.0, 3.0]), beta=1, threshold=2)",
        "softplus(tensor([1.0]), 2, 1)",
        "elu(tensor([-1.0, 0.5]), alpha=2.0)", "elu(tensor([-1.0, 0.5]), 0.5)",
        "leaky_relu(tensor([-1.0, 0.5]), 0.25)",
        "leaky_relu(tensor([-1.0, 0.5]), negative_slope=0.5)", "polygamma(tensor([1.0, 2.5]), 1)" ,
        "log_sigmoid(tensor([-200.0, 0.0, 200.0]))",
        "lgamma(tensor([0.5, -0.5, 10.0, 0.0, -3.0]))", "digamma(tensor([0.5, -0.5, 10.0, 0.0, -3.0]))",
        "expm1(tensor([1e-8, -1e-8]))", "log1p(tensor([1e-8, -1.0, -2.0]))",
        "exp(tensor([88.0, 89.0, -87.0, -104.0]))",
        "tanh(tensor([1e-8, 20.0, -20.0]))", "erfc(tensor([5.0, 10.0, -5.0]))", "sigmoid(tensor([-100.0, 100.0]))",
        "sin(tensor([1e5, 1e10, 1e30]))", "cos(tensor([1e5, 1e10, 1e30], dtype=f64))", "sqrt(tensor([1e-45, 1e-40]))",
        "tensor([1e-45, -1e-45]) * 1.0", "tensor([65504.0, 65520.0], dtype=f16)", "tensor([1e-8, 6e-8], dtype=f16)",
        "exp(tensor([11.0, 12.0], dtype=f16))",
    ]


def unary():
    """Ops of one tensor on every dtype, to the ends of integers, and on several layouts."""
    for name in FLOAT_UNARY + SAME_UNARY + PREDICATES + ["bitwise_not"]:
        for dtype in DTYPES:
            values = "[true, false]" if dtype == "bool" else "[0, 1, 2, 3]"
            yield f"{name}(tensor({values}, dtype={dtype}))"
    for name in ACTIVATIONS:
        for dtype in ["i64", "bool", "f16", "bf16"]:
            yield f"{name}(tensor([1, 0], dtype={dtype}))"
    for name in ["neg", "abs", "sign", "square", "bitwise_not", "relu"]:
        for dtype, low, high in [("i8", -128, 127), ("i16", -32768, 32767), ("i32", -2147483648, 2147483647),
                                 ("i64", -9223372036854775807, 9223372036854775807), ("u8", 0, 255)]:
            yield f"{name}(tensor([{low}, -1, 0, 1, {high}], dtype={dtype}))" if low < 0 else f"{name}(tensor([{low}, 1, {high}], dtype={dtype}))"
    for name in ["exp", "neg", "isnan", "logical_not", "round"]:
        yield f"{name}(tensor(2.0))"
        yield f"{name}(zeros(0))"
        yield f"{name}(zeros(2, 0, 3))"
        yield f"{name}(arange(6.0).reshape(2, 3).t())"
        yield f"{name}(arange(12.0).reshape(3, 4)[::2, 1::2])"
        yield f"{name}(tensor([1.0, 2.0]).expand(2, 2))"


def promotion():
    """The dtype of the result for each pair of dtypes and each kind of scalar."""
    for a, b in product(DTYPES, DTYPES):
        yield f"(tensor([1], dtype={a}) * tensor([1], dtype={b})).dtype"
        yield f"(tensor([1], dtype={a}) * tensor(1, dtype={b})).dtype"
    for a in DTYPES:
        for scalar in ["true", "2", "2.5"]:
            yield f"tensor([1, 0], dtype={a}) * {scalar}"
            yield f"{scalar} + tensor([1, 0], dtype={a})"
            yield f"(tensor(1, dtype={a}) * {scalar}).dtype"
    for name, (a, b) in product(["add", "div", "pow", "maximum", "eq", "atan2", "floor_div"],
                                [("bool", "u8"), ("u8", "i8"), ("i64", "f16"), ("f16", "bf16"), ("bf16", "f32"),
                                ("bool", "f16"), ("i16", "u8"), ("f64", "f32")]):
        yield f"{name}(tensor([1, 1], dtype={a}), tensor([1, 1], dtype={b}))"
    for name in ARITHMETIC + COMPARISONS + LOGIC:
        yield f"{name}(tensor([true, false]), tensor([true, true]))"
        yield f"{name}(tensor([7, 200], dtype=u8), tensor([3, 5], dtype=i8))"
        yield f"{name}(tensor([3, 4]), 2)"
        yield f"{name}(tensor([3, 4]), 1.5)"
        yield f"{name}(tensor([3.0, 4.0], dtype=f16), 2)"
    for name in BITS:
        for dtype in DTYPES:
            yield f"{name}(tensor([1, 1], dtype={dtype}), tensor([1, 0], dtype={dtype}))"
        yield f"{name}(tensor([6, 3], dtype=u8), tensor([1, 2], dtype=i32))"
        yield f"{name}(tensor([6, 3]), 1)"
        yield f"{name}(tensor([true]), 1)"
        yield f"{name}(tensor([true, false]), true)"
    for cond, a, b in [("true, false", "[1, 2]", "[1.5, 2.5]"), ("true, false", "[1, 2]", "[true, false]")]:
        yield f"where(tensor([{cond}]), tensor({a}), tensor({b}))"
    for x in ["1", "1.5", "true", "tensor([1], dtype=i8)", "tensor([1.0], dtype=f16)", "tensor(1.0, dtype=f64)"]:
        for y in ["2", "2.5", "tensor([2], dtype=i16)", "tensor([2.0], dtype=bf16)"]:
            yield f"where(tensor([true, false]), {x}, {y})"


def binary():
    specials = "[0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 2.5, -2.5]"
    for name in ARITHMETIC + COMPARISONS + LOGIC:
        yield f"{name}(tensor({specials}).unsqueeze(1), tensor({specials}))"
        yield f"{name}(tensor({specials}, dtype=f64), tensor([2.0, -3.0, inf]).unsqueeze(1))"
    for name in ["floor_div", "remainder", "fmod", "pow"]:
        for a, b in product(["[7, -7, 6, -6, 0]"],
            ["2", "-2", "3", "-3", "0", "2.5", "-2.5", "0.0", "tensor([2, -2, 3, -3, 1])"]):
            yield f"{name}(tensor({a}), {b})"
            yield f"{name}(tensor({a}, dtype=f32), {b})"
    for dtype in INTEGERS:
        for name in ["floor_div", "remainder", "fmod"]:
            yield f"{name}(tensor([7, 100], dtype={dtype}), tensor([2, 7], dtype={dtype}))"
            yield f"{name}(tensor([7, 100], dtype={dtype}), tensor([2, 0], dtype={dtype}))"
        yield f"pow(tensor([2, 3, 15], dtype={dtype}), 2)"
        yield f"pow(tensor([2, 3], dtype={dtype}), -1)"
        yield f"pow(tensor([2, 3], dtype={dtype}), 0.5)"
        yield f"div(tensor([7, 100], dtype={dtype}), 2, rounding_mode=\"floor\")"
        yield f"div(tensor([7, 100], dtype={dtype}), 2, rounding_mode=\"trunc\")"
        yield f"tensor([100, 120], dtype={dtype}) + tensor([100, 7], dtype={dtype})"
        yield f"tensor([100, 16], dtype={dtype}) * tensor([3, 16], dtype={dtype})"
        yield f"tensor([1, 2], dtype={dtype}) - tensor([2, 2], dtype={dtype})"
    yield from [
        "pow(2, tensor([1, 2, 3]))", "pow(2.0, tensor([1, 2]))", "2 ** tensor([0, 1])", "2 ** tensor([1, -1])",
        "2.5 ** tensor([1, -1])", "tensor([2.0, 3.0]) ** tensor([2, 0])",
        "pow(tensor([-8.0, 4.0]), 1 / 3)", "pow(tensor([0.0, -0.0]), -1.0)", "pow(tensor([0.0]), 0.0)",
        "pow(tensor([nan]), 0)", "pow(tensor([1.0]), nan)",
        "pow(tensor([-1.0]), inf)", "pow(tensor([2, 1, -1]), tensor([3, -1, -1]))", "pow(tensor([true]), 2)",
        "pow(tensor([2.0, 4.0]), 0.5)", "pow(tensor([2.0]), 3)",
        "tensor([2], dtype=i8) ** 7", "tensor([2.0], dtype=f16) ** 0.5",
        "tensor([3], dtype=u8) ** tensor([2], dtype=i64)",
        "tensor([-9223372036854775807]) - 1", "tensor([-9223372036854775807]) - 2",
        "tensor([9223372036854775807]) + 1", "tensor([9223372036854775807]) * 2",
        "floor_div(tensor([-9223372036854775807]) - 1, -1)", "remainder(tensor([-9223372036854775807]) - 1, -1)",
        "fmod(tensor([-9223372036854775807]) - 1, -1)",
        "abs(tensor([-9223372036854775807]) - 1)", "div(tensor([7.5, -7.5]), 2, rounding_mode=\"floor\")",
        "div(tensor([7.5, -7.5]), 2, rounding_mode=\"trunc\")",
        "div(tensor([1.0, -1.0, 0.0]), 0.0, rounding_mode=\"floor\")",
        "div(tensor([1.0, -1.0, 0.0]), 0.0, rounding_mode=\"trunc\")",
        "div(tensor([1, 2]), 0, rounding_mode=\"floor\")",
        "div(tensor([1, 2]), 0)", "div(tensor([1, 2]), 2, rounding_mode=none)",
        "div(tensor([1, 2]), 2, rounding_mode=\"up\")", "div(tensor([true]), tensor([true]))",
        "div(tensor([true]), tensor([true]), rounding_mode=\"floor\")", "tensor([1.0, -1.0, 0.0]) / 0.0",
        "tensor([1, 2]) / tensor([2, 4])",
        "floor_div(tensor([1.0, -1.0]), inf)", "floor_div(tensor([inf]), 2.0)", "remainder(tensor([1.0, -1.0]), inf)",
        "remainder(tensor([inf, 1.0]), 2.0)", "fmod(tensor([5.5, -5.5]), 2.0)", "fmod(tensor([1.0]), inf)",
        "remainder(5, tensor([3, -3]))", "remainder(-5.5, tensor([3.0, -3.0]))", "5 % tensor([3])",
        "7 // tensor([2, -2])", "1 - tensor([true])", "1 - tensor([2], dtype=u8)",
        "add(tensor([1, 2]), tensor([3, 4]), alpha=2)", "add(tensor([1, 2]), 1, alpha=2)",
        "add(tensor([1, 2]), tensor([3, 4]), alpha=0.5)", "add(tensor([1.0]), tensor([3]), alpha=0.5)",
        "sub(tensor([1, 2]), tensor([3, 4]), alpha=3)", "sub(tensor([true]), tensor([true]))",
        "add(tensor([true]), tensor([true]))", "add(tensor([true]), tensor([true]), alpha=true)",
        "sub(tensor([1.5]), 1, alpha=2.5)", "mul(tensor([true, false]), tensor([true, true]))", "tensor([true]) + 1",
        "tensor([true]) - 1", "tensor([true]) - true",
        "maximum(tensor([nan, 1.0]), tensor([1.0, nan]))", "maximum(tensor([0.0, -0.0]), tensor([-0.0, 0.0]))",
        "minimum(tensor([true]), tensor([false]))", "maximum(tensor([1, 5]), tensor(3.5))",
        "maximum(tensor([1, 5]), tensor([2.0]))", "hypot(tensor([3e38]), tensor([4e37]))",
        "hypot(tensor([3]), tensor([4]))", "hypot(tensor([inf]), tensor([nan]))",
        "atan2(tensor([0.0, -0.0, 1.0]), tensor([-1.0, -1.0, 0.0]))",
        "atan2(tensor([1]), tensor([1]))", "copysign(tensor([1, -2]), -1)", "copysign(tensor([1.0, nan]), -0.0)",
        "tensor([1, 2]) == tensor([1, 3])", "tensor([1, 2]) == 1.0", "tensor([nan]) == nan", "tensor([1, 2]) < 1.5",
        "tensor([255], dtype=u8) > 256", "tensor([255], dtype=u8) == -1", "tensor([127], dtype=i8) < 1000",
        "tensor([16777217]) == 16777217.0", "tensor([1.0], dtype=f16) == tensor([1], dtype=i64)",
        "tensor([true]) > false", "tensor([true]) >= 0.5", "tensor([0.1]) == 0.1", "tensor([0.1], dtype=f64) == 0.1",
        "tensor([0.1]) == tensor(0.1, dtype=f64)",
        "logical_and(tensor([1.5, 0.0, nan]), tensor([1, 1, 1]))", "logical_xor(tensor([2, 0]), tensor([3, 3]))",
        "logical_or(tensor([0.0, -0.0]), tensor([false, false]))",
        "tensor([true, false]) & tensor([true, true])", "tensor([true, false]) | false", "tensor([true]) ^ 1",
        "tensor([6]) & 3", "6 | tensor([1])", "6 ^ tensor([1], dtype=i8)", "tensor([1.0]) & 1",
        "tensor([true]) & 1.0",
        "tensor([1, 2, -8]) << 2", "tensor([8, -8, 7]) >> 1", "1 << tensor([0, 3])", "64 >> tensor([1, 2])",
        "tensor([255], dtype=u8) << 1", "tensor([255], dtype=u8) >> 7", "tensor([64], dtype=i8) << 1",
        "tensor([-1], dtype=i8) >> 7",
        "tensor([1.0]) << 1", "tensor([1]) << 1.0", "tensor([true]) << 1",
        "zeros(2, 3) + zeros(3)", "zeros(2, 3) + zeros(2)", "zeros(2, 1) + zeros(1, 3)", "zeros(0) + zeros(1)",
        "zeros(0) + zeros(2)", "zeros(2, 0) + zeros(0)", "zeros(2, 0) + zeros(1, 1)", "zeros(3, 1, 2) + zeros(4, 1)",
        "tensor(1) + tensor(2)", "tensor(1) + tensor([1.5])", "tensor(1.5) + tensor([1])",
        "tensor(1.5, dtype=f64) + tensor([1.0])", "tensor(1.5, dtype=f64) + tensor([1], dtype=i32)",
        "tensor(1, dtype=i64) + tensor([1], dtype=i8)", "tensor(1.0) + tensor(1.0, dtype=f16)",
        "arange(6).reshape(2, 3) + arange(6).reshape(3, 2).t()", "arange(4.0)[::2] * arange(4.0)[1::2]",
        "arange(3.0).expand(2, 3) + tensor([[1.0], [2.0]])", "arange(6).reshape(2, 3).t() * 2",
        "arange(24).reshape(2, 3, 4).permute(2, 0, 1) - 1",
        "arange(3.0) + arange(3.0).flip(0)", "arange(8).reshape(2, 2, 2)[:, 1] + arange(8).reshape(2, 2, 2)[1]",
        "1e40 * tensor([1.0])", "1e300 * tensor([0.0])", "tensor([1.0]) * 1e-60", "tensor([1]) * 1e40",
        "tensor([60000.0], dtype=f16) * 2", "tensor([1.0], dtype=bf16) + 0.00390625",
        "tensor([2048.0], dtype=f16) + 1", "tensor([3e38], dtype=bf16) * 2",
        "tensor([1], dtype=u8) + 300", "tensor([1], dtype=i8) * 1000", "tensor([1], dtype=u8) + -1",
    ]


def ternary():
    yield from [
        "clamp(tensor([-1, 2, 5]), 0, 3)", "clamp(tensor([-1, 2, 5]), min=0)", "clamp(tensor([-1, 2, 5]), max=3)",
        "clamp(tensor([-1, 2, 5]), 0.5, 3.5)", "clamp(tensor([-1.0, 2.0, 5.0]), 0, 3)", "clamp(tensor([1, 2]), 3, 0)",
        "clamp(tensor([1.0, nan]), 0, 1)",
        *[f"x = tensor([-1.0, 0.0, 0.5, 1.0, 2.0]).requires_grad_(); clamp(x, {bounds}).sum().backward(); x.grad"
          for bounds in ["min=0", "max=1", "0, 1", "1, 0", "min=tensor(0.0)", "max=tensor([1.0, 0.0, 0.5, 1.0, 3.0])",
                         "tensor(0.0), tensor(1.0)"]],
        *["x = tensor([0.0, 0.0, 0.0, 1.0, 2.0, 0.5, 3.0]).requires_grad_(); "
          "a = tensor([0.0, 0.0, -1.0, 1.0, 3.0, 0.0, 1.0]).requires_grad_(); "
          "b = tensor([1.0, 0.0, 0.0, 0.5, 2.0, 1.0, 3.0]).requires_grad_(); "
          f"clamp(x, {bounds}).sum().backward(); [{grads}]"
          for bounds, grads in [("a, b", "x.grad, a.grad, b.grad"), ("min=a", "x.grad, a.grad"), ("max=b", "x.grad, b.grad")]],
        "x = tensor([2.0]).requires_grad_(); pow(x, true).backward(); x.grad",
        "clamp(tensor([1.0, 2.0]), nan, 3)", "clamp(tensor([1.0, 2.0]), 0, nan)", "clamp(tensor([1.0, 2.0]))",
        "clamp(tensor([-1.0, 5.0]), tensor([0.0, 0.0]), tensor([1.0, 1.0]))",
        "clamp(tensor([-1.0, 5.0]), min=tensor([0.0, 6.0]))", "clamp(tensor([-1.0, 5.0]), max=tensor(2.0))",
        "clamp(tensor([[1, 2], [3, 4]]), tensor([2, 3]), tensor([[3], [3]]))",
        "clamp(tensor([1, 2]), tensor([1.5, 1.5]))", "clamp(tensor([1, 2], dtype=u8), 0, 300)",
        "clamp(tensor([1, 2], dtype=i8), min=2)", "clamp(tensor([true, false]), 0, 1)",
        "clamp(tensor([1.0], dtype=f16), 0.1, 0.7)",
        "clamp(tensor([inf, -inf]), -1, 1)", "clamp(zeros(0), 0, 1)", "tensor([5, -5]).clamp_(0, 3)",
        "tensor([5, -5]).clamp_(0.5)", "tensor([5.0, -5.0]).clamp_(max=tensor([1.0, 2.0]))",
        "where(tensor([true, false]), tensor([1.0, 2.0]), tensor([3.0, 4.0]))",
        "where(tensor([[true], [false]]), tensor([1, 2]), tensor(0))",
        "where(tensor([1, 0]), tensor([1]), tensor([2]))", "where(tensor([true, false]), nan, 1.0)",
        "where(tensor(true), tensor([1, 2]), 0)",
        "where(tensor([true, false, true]), tensor([1, 2]), 0)", "where(zeros(0, dtype=bool), zeros(0), 1.0)",
        "where(tensor([1.0, 0.0]) > 0.5, tensor([1, 2], dtype=i8), 100)",
        "where(tensor([true, false]), tensor([1], dtype=u8), tensor([-1], dtype=i8))",
        "where(tensor([[true, false], [false, true]]).t(), arange(4).reshape(2, 2), -1)",
        "where(tensor([true, false]))", "tensor([1, 2]).where(tensor([true, false]), 0)",
        "where(tensor([true, false]), 1, 2)", "where(tensor([true, false]), 1, 2.5)",
        "where(tensor([true, false]), true, false)",
        "lerp(tensor([0.0, 1.0]), tensor([10.0, 11.0]), 0.3)",
        "lerp(tensor([0.0, 1.0]), tensor([10.0, 11.0]), tensor([0.1, 0.9]))",
        "lerp(tensor([0.0]), tensor([10.0]), 0.7)", "lerp(tensor([0]), tensor([10]), 0.5)",
        "lerp(tensor([0.0]), tensor([10.0], dtype=f64), 0.5)",
        "lerp(tensor([0.0]), tensor([10.0]), tensor([0.5], dtype=f64))",
        "lerp(tensor([0.0]), tensor([10.0]), 1)",
        "lerp(tensor([1.0, 2.0], dtype=f16), tensor([3.0, 5.0], dtype=f16), 0.25)",
        "lerp(tensor([1.0]), tensor([inf]), 0.5)", "lerp(zeros(2, 1), ones(3), 0.5)",
        "tensor([1.0]).lerp_(tensor([2.0]), 0.5)", "lerp(tensor([1.0]), tensor([3.0]), tensor([1]))",
        "masked_fill(tensor([1, 2, 3]), tensor([true, false, true]), 0)",
        "masked_fill(tensor([1, 2]), tensor([true, false]), 1.5)",
        "masked_fill(tensor([1.0, 2.0]), tensor([true, false]), nan)",
        "masked_fill(tensor([1.0, 2.0]), tensor([1, 0]), 0)",
        "masked_fill(tensor([1.0, 2.0]), tensor([true, false]), tensor(5))",
        "masked_fill(tensor([1.0, 2.0]), tensor([true, false]), tensor([5.0]))",
        "masked_fill(tensor([[1, 2], [3, 4]]), tensor([true, false]), 9)",
        "masked_fill(tensor([1, 2]), tensor([[true], [false]]), 9)", "masked_fill(tensor(1.0), tensor(true), 2)",
        "masked_fill(tensor([true, false]), tensor([true, true]), false)",
        "masked_fill(tensor([true, false]), tensor([false, true]), 1)",
        "masked_fill(tensor([true, false]), tensor([true, true]), 0.5)",
        "masked_fill(tensor([true, false]), tensor([true, true]), -0.0)",
        "masked_fill(tensor([true, false]), tensor([false, true]), nan)",
        "masked_fill(tensor([true, false]), tensor([false, true]), tensor(0.25, dtype=f16))",
        "tensor([false, true]).masked_fill_(tensor([true, false]), 1e-300)",
        "tensor([1, 2, 3]).masked_fill_(tensor([true, false, true]), 7)",
        "tensor([1, 2]).masked_fill_(tensor([true, false]), 0.5)",
        "tensor([1, 2]).masked_fill_(tensor([[true], [false]]), 0)",
        "masked_fill(tensor([1, 2], dtype=u8), tensor([true, false]), 200)",
        "masked_fill(tensor([1.0], dtype=f16), tensor([true]), 1e10)",
        "masked_fill(tensor([1, 2]), tensor([true, false]), tensor(1.5))",
        "masked_fill(tensor([1, 2]), tensor([true, false]), true)",
    ]


def in_place():
    names = ["add_", "sub_", "mul_", "div_", "floor_div_", "remainder_", "pow_", "maximum_", "eq_", "lt_",
        "logical_and_", "bitwise_and_", "copysign_", "atan2_", "fmod_"]
    torch_has = [n for n in names if n not in ("floor_div_", "maximum_")]
    for name in torch_has:
        for x, y in [("[4, 5]", "2"), ("[4, 5]", "tensor([2, 3])"), ("[4, 5]", "2.5"), ("[4.0, 5.0]", "2"),
            ("[4.0, 5.0]", "tensor([2, 2])"), ("[true, false]", "true"), ("[true, false]", "2"),
            ("[4, 5]", "tensor([1.5, 2.5])"), ("[4.0]", "tensor([1.0, 2.0])")]:
            if y.startswith("tensor") or name not in ("copysign_", "atan2_") or True:
                yield f"tensor({x}).{name}({y})"
    for dtype in DTYPES:
        for name, y in [("add_", "1"), ("mul_", "true"), ("div_", "2"), ("exp_", ""), ("neg_", ""), ("zero_", ""),
            ("fill_", "1"), ("sqrt_", ""), ("abs_", ""), ("logical_not_", ""), ("floor_", ""), ("relu_", ""),
            ("sigmoid_", "")]:
            yield f"tensor([1, 0], dtype={dtype}).{name}({y})"
    yield from [
        "tensor([1, 2], dtype=i8).add_(tensor([1, 2]))", "tensor([1, 2], dtype=u8).add_(-3)",
        "tensor([1.0], dtype=f16).add_(tensor([1e-3], dtype=f64))", "tensor([1.0]).add_(tensor([1.0], dtype=f64))",
        "tensor(1).add_(tensor([1]))", "tensor([1]).add_(tensor(1.5))", "tensor([1.0]).add_(tensor([2.0]), alpha=3)",
        "zeros(2, 3).add_(ones(3))", "zeros(3).add_(ones(2, 3))", "zeros(3).expand(2, 3).add_(1)",
        "zeros(2, 3).t().add_(tensor([1.0, 2.0]))", "x = arange(6).reshape(2, 3); x[0].mul_(10); x",
        "x = arange(6).reshape(2, 3); x[:, 1].fill_(9); x", "x = arange(6).reshape(2, 3); x.t().add_(x.t()); x",
        "x = arange(4.0); x[1:].add_(x[:-1]); x", "x = arange(4); x[:2].copy_(x[2:]); x",
        "x = zeros(2, 2); x.diagonal().fill_(1); x", "x = zeros(2, 2); x.copy_(tensor([1, 2])); x",
        "x = zeros(2, dtype=i64); x.copy_(tensor([1.7, -1.7])); x",
        "x = zeros(2); x.copy_(tensor([[1.0], [2.0]])); x",
        "x = zeros(2, dtype=bool); x.copy_(tensor([0.5, 0.0])); x",
        "x = zeros(3, dtype=u8); x.copy_(tensor([300, -1, 5])); x",
        "x = zeros(2, dtype=i8); x.copy_(tensor([200, -200])); x", "tensor([1, 2]).fill_(2.9)",
        "tensor([1, 2]).fill_(tensor(3))", "tensor([1, 2]).fill_(tensor([3]))", "tensor([true, false]).fill_(2)",
        "tensor([1, 2], dtype=u8).fill_(255)", "tensor([1.0, 2.0]).eq_(1)", "tensor([1.0, 2.0]).ge_(0)",
        "tensor([1, 2]).exp_()", "tensor([1.0, 4.0]).sqrt_()", "tensor([1, 2]).neg_()", "tensor([1.5]).round_()",
        "tensor([1.256]).round_(decimals=2)", "tensor([true]).logical_not_()", "tensor([5]).bitwise_not_()",
        "tensor([1, 2]).bitwise_left_shift_(1)", "tensor([0.5]).gelu()", "tensor([-1.0]).relu_()",
        "tensor([nan]).nan_to_num_()",
        "tensor([1, 2, 3]).div_(2, rounding_mode=\"floor\")", "tensor([1, 2, 3]).div_(2)",
        "tensor([1.0, 2.0]).pow_(2)", "tensor([1, 2]).pow_(-1)", "tensor([2, 3]).pow_(0.5)",
        "x = tensor([1, 2]); x += 1.5; x", "x = tensor([1.0]); x += 1; x", "x = tensor([1, 2]); x /= 2; x",
        "x = tensor([1, 2]); x //= 2; x", "x = tensor([5, 6]); x %= 4; x", "x = tensor([2.0]); x **= 2; x",
        "x = tensor([6]); x &= 3; x", "x = tensor([6]); x |= 1; x", "x = tensor([6]); x ^= 3; x",
        "x = tensor([6]); x <<= 1; x", "x = tensor([6]); x >>= 1; x",
        "x = tensor([[1.0, 2.0]]); x @= tensor([[1.0, 0.0], [0.0, 1.0]]); x",
    ]


def cases():
    yield from special()
    yield from unary()
    yield from promotion()
    yield from binary()
    yield from ternary()
    yield from in_place()
