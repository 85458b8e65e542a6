"""Expressions over the functions that stdlib/prelude_*.kiln composes: values, dtypes, refusals, gradients."""

SPECIAL = "tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -3.0, inf, -inf, nan])"
UNARY = ["logit", "sinc", "deg2rad", "rad2deg", "signbit", "relu6", "hardtanh", "hardsigmoid", "hardswish", "selu", "celu",
         "mish", "softsign", "tanhshrink", "hardshrink", "softshrink"]
BINARY = ["logaddexp", "logaddexp2", "xlogy", "fmax", "fmin", "float_power", "heaviside"]
SMOOTH = "tensor([0.25, 0.5, 0.75, 0.125], dtype=f64)"
CORNERS = "tensor([-4.0, -3.0, -1.0, -0.75, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 7.0], dtype=f64)"
MATRIX = "tensor([[3.0, 1.0, 2.5, -1.0], [0.5, 4.0, -2.0, 0.25], [1.5, -0.5, 2.0, 6.0]])"
WITH_NAN = "tensor([[3.0, nan, 2.5, -1.0], [nan, nan, nan, nan], [1.5, -0.5, 2.0, 6.0]])"
CUBE = "(arange(24.0).reshape(2, 3, 4) * 7 % 11)"


def gradients(expressions):
    """The gradient of a weighted sum of each expression in x."""
    for x, expression in expressions:
        yield f"x = {x}; x.requires_grad_(); y = {expression}; (y * (1.5 + arange(y.numel()).reshape(y.shape))).sum().backward(); x.grad"


def elementwise():
    for name in UNARY:
        yield f"{name}({SPECIAL})"
        yield f"{name}(zeros(0))"
        yield f"{name}(tensor(0.75))"
        for dtype in ["f16", "bf16", "f64"]:
            yield f"{name}(tensor([0.25, 0.5], dtype={dtype}))"
    for name in ["sinc", "deg2rad", "rad2deg", "signbit", "logit"]:
        for dtype in ["u8", "i32", "i64"]:
            yield f"{name}(tensor([0, 1, 3], dtype={dtype}))"
    for name in BINARY:
        yield f"{name}({SPECIAL}.unsqueeze(1), tensor([0.0, 1.0, -1.0, 0.5, 3.0, inf, -inf, nan]))"
        yield f"{name}(tensor([1.0, 2.0]), tensor([[3.0], [0.5]]))"
        yield f"{name}(zeros(0, 2), ones(2))"
        yield f"{name}(tensor(2.0), tensor(0.5))"
        for dtype in ["f16", "bf16", "f64"]:
            yield f"{name}(tensor([1.0, 2.0], dtype={dtype}), tensor([0.5, 3.0], dtype={dtype}))"
    for name in ["xlogy", "fmax", "fmin", "float_power"]:
        yield f"{name}(tensor([1, 2]), tensor([3, 4]))"
        yield f"{name}(tensor([1, 2]), tensor([3.0, 4.0], dtype=f16))"
        yield f"{name}(tensor([1.0, 2.0]), tensor([3.0, 4.0], dtype=f64))"
        yield f"{name}(tensor([1, 2], dtype=i8), tensor([3, 4], dtype=i32))"
    yield from [
        "logit(tensor([-0.5, 0.0, 0.25, 1.0, 1.5]), eps=0.125)", "logit(tensor([0.5]), 0.25)",
        "xlogy(2.0, tensor([0.0, 1.0, 4.0]))", "xlogy(tensor([0.0, 1.0, 4.0]), 2.0)", "float_power(2, tensor([1, 3]))",
        "float_power(tensor([4.0]), 0.5)", "float_power(tensor([-8.0, 2.0]), 1.5)",
        "heaviside(tensor([-1, 0, 2]), tensor([7, 8, 9]))", "heaviside(tensor([-1.0, 0.0, 2.0]), tensor(0.5))",
        "addcmul(ones(2), tensor([1.0, 2.0]), tensor([3.0, 4.0]))",
        "addcmul(ones(2, 1), tensor([1.0, 2.0]), tensor([3.0, 4.0]), value=0.25)",
        "addcmul(tensor([1, 2]), tensor([3, 4]), tensor([5, 6]), value=2)",
        "addcdiv(ones(2), tensor([1.0, 2.0]), tensor([3.0, 4.0]))",
        "addcdiv(ones(2), tensor([1.0, 2.0]), tensor([4.0, 8.0]), value=-2)",
        "addcdiv(ones(2), tensor([1.0, 2.0]), tensor([0.0, 8.0]))",
        "logaddexp(tensor([1e30, -1e30]), tensor([1.0, 1.0]))", "logaddexp(tensor([-1e8, 1e8]), tensor([1.0, 1.0]))",
        "logaddexp2(tensor([1000.0, -1000.0]), tensor([1000.0, -1000.0]))",
    ]
    for name in [*UNARY[:4], *UNARY[5:]]:
        yield from gradients([(SMOOTH, f"{name}(x)"), (CORNERS, f"{name}(x)")] if name != "logit" else [(SMOOTH, f"{name}(x)")])
    yield from gradients([(SMOOTH, "logit(x, eps=0.2)")])
    for name in ["logaddexp", "logaddexp2", "xlogy", "fmax", "fmin", "float_power"]:
        other = "tensor([0.75, 0.5, 2.0, 1.0], dtype=f64)"
        yield from gradients([(SMOOTH, f"{name}(x, {other})"), (SMOOTH, f"{name}({other}, x)")])
    yield from gradients([(SMOOTH, "addcmul(x, x, x, value=2)"), (SMOOTH, "addcdiv(x, x + 1, x, value=2)"),
                          ("tensor([0.0, 2.0])", "xlogy(x, tensor([0.0, 3.0]))")])


def activations():
    for name in ["hardtanh", "relu6"]:
        for dtype in ["i32", "i64"]:
            yield f"{name}(tensor([-3, 0, 1, 7], dtype={dtype}))"
    yield from [
        f"hardtanh({CORNERS}, -0.5, 2.0)", f"hardtanh({CORNERS}, min_val=0.0, max_val=0.5)", "hardtanh(ones(2), 2.0, 1.0)",
        f"celu({CORNERS}, 2.0)", f"celu({CORNERS}, alpha=-0.5)", "celu(ones(2), alpha=0.0)",
        f"hardshrink({CORNERS}, 1.0)", f"hardshrink({CORNERS}, lambd=0.75)", f"softshrink({CORNERS}, 1.0)",
        f"softshrink({CORNERS}, lambd=0.75)", "softshrink(ones(2), -1.0)",
        f"threshold({CORNERS}, 0.5, -20.0)", f"threshold({SPECIAL}, 0.0, 1.0)", "threshold(tensor([1, 5]), 2, 7)",
        f"prelu({SPECIAL}, tensor([0.25]))", f"prelu({CUBE} - 5, tensor([0.25, 0.5, 2.0]))",
        f"prelu({CUBE} - 5, tensor([0.25, 0.5]))", f"prelu({CUBE} - 5, tensor([0.25]))", "prelu(tensor(-2.0), tensor([0.5]))",
        "prelu(tensor([-2.0, 1.0]), tensor([0.5, 0.25]))", "prelu(tensor([-2.0, 1.0]), tensor(0.5))",
        "prelu(tensor([-2.0, 1.0]), tensor([[0.5]]))", "prelu(-ones(2, 3), tensor([0.5, 0.25, 1.0]))",
        f"glu({CUBE})", f"glu({CUBE}, 0)", f"glu({CUBE}, dim=1)", "glu(ones(3))", "glu(tensor(1.0))", "glu(zeros(0, 4))",
        "glu(zeros(4, 0))", "glu(ones(4, dtype=f16))",
        f"softmin({MATRIX}, 0)", f"softmin({MATRIX}, dim=1)", f"softmin({MATRIX}, 1, dtype=f64)", "softmin(tensor([1.0, inf]), 0)",
    ]
    yield from gradients([
        (CORNERS, "hardtanh(x, -0.5, 2.0)"), (CORNERS, "celu(x, 2.0)"), (CORNERS, "threshold(x, 0.5, 2.0)"),
        (CORNERS, "hardshrink(x, 1.0)"), (CORNERS, "softshrink(x, 1.0)"), (MATRIX, "glu(x)"), (f"{MATRIX}.to(f64)", "softmin(x, 1)"),
        (CORNERS, "prelu(x, tensor([0.25], dtype=f64))"), ("tensor([0.25, 0.5, 2.0])", f"prelu({CUBE} - 5, x)"),
        ("tensor([0.25])", f"prelu({CUBE} - 5, x)")])


def order():
    for name in ["median", "nanmedian"]:
        for x in [MATRIX, WITH_NAN, CUBE, "tensor(3.0)", "tensor([2, 7, 5])", "zeros(0)", "tensor([nan, 1.0])",
                  "tensor([2.0, 1.0, 4.0, 3.0], dtype=f16)", "zeros(0, 3)"]:
            yield f"{name}({x})"
        for x in [MATRIX, WITH_NAN, "tensor([[9, 2, 7], [4, 5, 6]])", "tensor([[1, 3, 2]], dtype=u8)"]:
            for rest in ["0", "1", "-1, true", "dim=1, keepdim=true", "2"]:
                yield f"{name}({x}, {rest})"
        yield f"{name}(tensor(3.0), 0)"
        yield f"{name}(tensor(3.0), 0, true)"
        yield f"{name}(zeros(0, 3), 0)"
        yield f"{name}(zeros(0, 3), 1)"
    for x in ["tensor([30, 10, 20])", MATRIX, "tensor([nan, 2.0, 1.0])", "tensor(5.0)"]:
        for rest in ["1", "2", "3, dim=0", "1, -1, true", "0", "5"]:
            yield f"kthvalue({x}, {rest})"
    for x in ["tensor([2, 3, 1, 3, 2, 3])", "tensor([[1, 1, 2], [3, 2, 2]])", "tensor(4)", "tensor([0.5, 0.25, 0.5])"]:
        yield f"mode({x})"
        yield f"mode({x}, 0)"
        yield f"mode({x}, -1, true)"
    yield from ["mode(zeros(2, 0))", "mode(tensor([true, true, false]))[0]", "mode(tensor([3, 3, 5], dtype=u8))"]
    for name in ["quantile", "nanquantile"]:
        for q in ["0.0", "0.3", "0.5", "1.0", "tensor([0.1, 0.5, 0.9])", "tensor(0.4)", "1.5", "-0.1", "tensor([[0.5]])",
                  "tensor([0.5], dtype=f64)"]:
            yield f"{name}({MATRIX}, {q})"
            yield f"{name}({WITH_NAN}, {q}, dim=1)"
            yield f"{name}({MATRIX}, {q}, 0, true)"
        for kind in ["linear", "lower", "higher", "nearest", "midpoint", "cubic"]:
            yield f"{name}({MATRIX}, tensor([0.0, 0.1, 0.5, 0.85]), dim=-1, interpolation=\"{kind}\")"
            yield f"{name}({WITH_NAN}, 0.6, dim=0, keepdim=true, interpolation=\"{kind}\")"
        yield from [f"{name}(tensor([1, 2]), 0.5)", f"{name}(zeros(0), 0.5)", f"{name}(tensor(2.0), 0.5)",
                    f"{name}(tensor([1.0, 2.0], dtype=f16), 0.5)", f"{name}({CUBE}, 0.5, keepdim=true)",
                    f"{name}({CUBE}, tensor([0.5, 0.25]), 1)", f"{name}({CUBE}, tensor([0.5, 0.25]), 1, true)",
                    f"{name}({CUBE}, tensor([0.5, 0.25]), keepdim=true)"]
    for elements, tests in [("tensor([[1, 2], [3, 4]])", "tensor([2, 4, 9])"), ("tensor([1.0, nan])", "tensor([nan, 1.0])"),
                            ("tensor([1, 2, 3])", "tensor([1.0, 2.5])"), ("tensor([1, 2])", "2"), ("3", "tensor([3, 4])"),
                            ("zeros(0)", "tensor([1.0])"), ("tensor([1, 2])", "zeros(0, dtype=i64)"),
                            ("tensor(2)", "tensor([[1, 2]])")]:
        yield f"isin({elements}, {tests})"
        yield f"isin({elements}, {tests}, invert=true)"
        yield f"isin({elements}, {tests}, assume_unique=true)"
    for x in ["tensor([[0.5, 2.0], [9.0, 3.0]])", "tensor(2)", "2.5", "zeros(0)", "tensor([nan, inf, -inf])"]:
        yield f"bucketize({x}, tensor([1.0, 2.0, 3.0]))"
        yield f"bucketize({x}, tensor([1, 2, 3]), right=true)"
        yield f"bucketize({x}, tensor([1.0, 2.0, 3.0]), out_int32=true)"
    yield "bucketize(tensor([1.0]), tensor([[1.0]]))"
    yield from gradients([
        (MATRIX, "median(x)"), (MATRIX, "median(x, 1)[0]"), (WITH_NAN, "nanmedian(x, 0)[0].nan_to_num(0.0)"),
        (MATRIX, "kthvalue(x, 2, 0)[0]"), (MATRIX, "mode(x, 1)[0]"), (MATRIX, "quantile(x, 0.3)"),
        (MATRIX, "quantile(x, tensor([0.3, 0.5]), dim=1)"), (MATRIX, "quantile(x, 0.7, 0, interpolation=\"midpoint\")"),
        (WITH_NAN, "nanquantile(x, 0.3, dim=0)")])


def statistics():
    for name in ["nansum", "nanmean"]:
        for x in [MATRIX, WITH_NAN, "tensor(nan)", "zeros(0)", "tensor([1, 2])", "tensor([true, true])",
                  "tensor([1.0, nan], dtype=f16)", "tensor([nan, nan], dtype=f64)"]:
            yield f"{name}({x})"
        for rest in ["0", "dim=(0, 1)", "1, true", "dim=1, dtype=f64"]:
            yield f"{name}({WITH_NAN}, {rest})"
    for name in ["var_mean", "std_mean"]:
        for rest in ["", ", 0", ", 1, false", ", dim=(0, 1), keepdim=true", ", dim=1, correction=0", ", false", ", correction=2"]:
            yield f"{name}({MATRIX}{rest})"
        yield f"{name}(tensor([1, 2]))"
    for x in [MATRIX, WITH_NAN, "tensor([3, 1, 2], dtype=u8)", "tensor(2.0)", "zeros(0)"]:
        for rest in ["", ", dim=0", ", dim=-1, keepdim=true"]:
            yield f"aminmax({x}{rest})"
    weights = ["", "correction=0", "correction=4", "fweights=tensor([1, 2, 3, 1])", "aweights=tensor([0.5, 1.0, 2.0, 0.25])",
               "fweights=tensor([1, 2, 3, 1]), aweights=tensor([0.5, 1.0, 2.0, 0.25])",
               "correction=0, aweights=tensor([0.5, 1.0, 2.0, 0.25])", "fweights=tensor([1.0, 2.0, 3.0, 1.0])",
               "fweights=tensor([1, 2])", "aweights=tensor([1, 2, 3, 1])"]
    for rest in weights:
        yield f"cov({MATRIX}{', ' if rest else ''}{rest})"
        yield f"cov({MATRIX}[0]{', ' if rest else ''}{rest})"
    for x in ["tensor([[1, 2, 4], [3, 1, 1]])", "tensor(3.0)", CUBE, "tensor([[1.0, 2.0], [2.0, 4.0]], dtype=f64)"]:
        yield f"cov({x})"
        yield f"corrcoef({x})"
    yield f"corrcoef({MATRIX})"
    yield f"corrcoef({MATRIX}[1])"
    for x in ["tensor([1, 3, 1, 0])", "zeros(0, dtype=i64)", "tensor([2, 2], dtype=u8)", "tensor([1.0])", "tensor([[1]])",
              "tensor([-1, 2])", "tensor(3)"]:
        yield f"bincount({x})"
        yield f"bincount({x}, minlength=6)"
    yield from ["bincount(tensor([1, 3, 1]), tensor([0.5, 2.0, 1.0]))", "bincount(tensor([1, 3]), weights=tensor([2, 3]))",
                "bincount(tensor([1, 3]), weights=tensor([2.0, 3.0], dtype=f64))", "bincount(tensor([1, 3]), tensor([1.0]))",
                "bincount(tensor([1, 3]), minlength=-1)"]
    for rest in ["", ", 4", ", bins=5, min=0, max=3", ", bins=3, min=-1, max=-1", ", bins=0", ", bins=4, min=2, max=1"]:
        yield f"histc({MATRIX}{rest})"
    yield from ["histc(tensor([2.0, 2.0]), 4)", "histc(zeros(0), 3)", "histc(tensor([1.0, 2.0, 2.5], dtype=f64), 3)",
                "histc(tensor([1, 2]), 3)", "histc(tensor([0.0, 1.0]), 4, 0, 1)"]
    yield from gradients([
        (WITH_NAN, "nansum(x, 0)"), (WITH_NAN, "nanmean(x, 0)"), (MATRIX, "var_mean(x, 1)[0]"), (MATRIX, "aminmax(x, dim=1)[1]"),
        (MATRIX, "cov(x)"), (MATRIX, "cov(x, aweights=tensor([0.5, 1.0, 2.0, 0.25]))"), (MATRIX, "corrcoef(x)")])


def scans():
    for name in ["cummax", "cummin", "logcumsumexp"]:
        for x in [MATRIX, CUBE, "tensor([1.0, 3.0, 3.0, 2.0, nan, 5.0, nan])", "tensor(2.0)", "zeros(0)", "zeros(2, 0)",
                  "tensor([-inf, -inf, 1.0, inf, inf])", "tensor([2.0, 1.0, 3.0], dtype=f16)"]:
            yield f"{name}({x}, 0)"
            yield f"{name}({x}, dim=-1)"
        yield f"{name}({MATRIX}, 2)"
        yield f"{name}((arange(70.0) * 17 % 31).reshape(2, 35), 1)"
    for name in ["cummax", "cummin"]:
        yield f"{name}(tensor([3, 1, 3, 1, 5]), 0)"
        yield f"{name}(tensor([3, 1, 3, 9], dtype=u8), 0)"
        yield f"{name}(tensor([true, false, true]), 0)"
    for x in ["tensor([1, 4, 9, 16])", MATRIX, "tensor([true, true, false])", "tensor([3, 1], dtype=u8)", "zeros(1)", "zeros(0)"]:
        for rest in ["", ", 2", ", n=0", ", n=5", ", n=-1", ", dim=0"]:
            yield f"diff({x}{rest})"
    yield from ["diff(tensor(1.0))", "diff(tensor([1, 4]), prepend=tensor([0]))", "diff(tensor([1, 4]), append=tensor([0, 2]))",
                f"diff({MATRIX}, dim=0, prepend=ones(1, 4), append=ones(2, 4))", f"diff({MATRIX}, dim=3)"]
    for name in ["trapezoid", "cumulative_trapezoid"]:
        for rest in ["", ", dx=2.0", ", dim=0", ", tensor([0.0, 1.0, 3.0, 3.5])", ", x=tensor([0.0, 1.0, 3.0]), dim=0",
                     ", tensor([0.0, 1.0])", f", {MATRIX}", f", {MATRIX}, dim=0", ", dim=2"]:
            yield f"{name}({MATRIX}{rest})"
        yield from [f"{name}(tensor([1, 2, 4]))", f"{name}(tensor(1.0))", f"{name}(zeros(1))", f"{name}({CUBE}, dx=0.5, dim=1)",
                    f"{name}({CUBE}, {MATRIX})", f"{name}({CUBE}, tensor([0.0, 1.0, 3.0]), dim=1)"]
    yield from gradients([
        (MATRIX, "cummax(x, 1)[0]"), (MATRIX, "cummin(x, 0)[0]"), (MATRIX, "logcumsumexp(x, 1)"), (MATRIX, "diff(x, 2)"),
        ("tensor([-inf, 1.0, 2.0])", "logcumsumexp(x, 0).exp()"), (MATRIX, "trapezoid(x, dim=0)"),
        (MATRIX, "cumulative_trapezoid(x, tensor([1.0, 2.0, 4.0, 8.0]))")])
