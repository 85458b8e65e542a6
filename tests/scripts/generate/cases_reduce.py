"""Expressions over reductions and scans: dims, keepdim, dtypes, empty and special input, ties."""
from cases_elementwise import DTYPES

PLAIN = ["sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "max", "min", "count_nonzero",
    "var", "std", "norm", "logsumexp", "cumsum", "cumprod", "softmax", "log_softmax"]
OVER_DIMS = ["sum", "mean", "amax", "amin", "any", "all", "count_nonzero", "var", "std", "norm", "logsumexp", "prod"]
ALONG_INDEX = ["cumsum", "cumprod", "softmax", "log_softmax", "argmax", "argmin", "max", "min"]
NEEDS_DIM = ["cumsum", "cumprod", "softmax", "log_softmax", "logsumexp"]


def dims():
    x = "tensor([[[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], [[4.0, 2.0, -3.0], [1.0, 1.0, 2.0]]])"
    for name in OVER_DIMS:
        lead = ", 2" if name == "norm" else ""
        if name not in NEEDS_DIM:
            yield f"{name}({x})"
        for dim in ["0", "1", "-1", "(0, 1)", "(0, 2)", "(-1, -3)", "(0, 1, 2)", "[1, 2]", "3", "-4", "(0, 0)",
            "(0, -3)", "()"]:
            if name == "prod" and dim[0] in "([":
                continue
            yield f"{name}({x}{lead}, dim={dim})"
        if name != "count_nonzero":
            for dim in ["1", "(0, 2)"]:
                if name == "prod" and dim[0] == "(":
                    continue
                yield f"{name}({x}{lead}, dim={dim}, keepdim=true)"
    for name in ALONG_INDEX:
        for dim in ["0", "1", "-1", "3"]:
            yield f"{name}({x}, dim={dim})"
        if name not in NEEDS_DIM:
            yield f"{name}({x}, dim=1, keepdim=true)"
            yield f"{name}({x})"
            yield f"{name}({x}.permute(2, 0, 1), dim=0)"
        yield f"{name}({x}.permute(2, 0, 1), dim=-1)"


def dtypes():
    for name in PLAIN:
        extra = ", dim=0" if name in NEEDS_DIM else ""
        for dtype in DTYPES:
            yield f"{name}(tensor([1, 0, 1], dtype={dtype}){extra})"
    for name in ["sum", "prod", "cumsum", "cumprod", "mean", "softmax", "log_softmax", "norm"]:
        extra = ", dim=0" if name in NEEDS_DIM else ", 2" if name == "norm" else ""
        for dtype in ["bool", "u8", "i32", "f16", "f32", "f64"]:
            yield f"{name}(tensor([2, 3, 250]){extra}, dtype={dtype})"
            yield f"{name}(tensor([2.5, 3.5, 1.0]){extra}, dtype={dtype})"
    yield from ["sum(tensor([true, true, false]))", "sum(tensor([200, 100], dtype=u8))",
        "prod(tensor([200, 2], dtype=u8))", "cumsum(tensor([200, 100], dtype=u8), dim=0)", "mean(tensor([1, 2]))",
        *[f"{op}(((arange(10, dtype=f64) * 0.37 + 1).sin() * 2).reshape(2, 5), 0, dtype={dtype})"
          for op, dtypes in [("mean", ["f32"]), ("sum", ["f32", "f16", "bf16"]), ("prod", ["f32", "f16", "bf16"])]
          for dtype in dtypes],
        "mean(tensor([2049, 2051]), dtype=f16)",
        "mean(tensor([1, 2]), dtype=f64)", "mean(tensor([true]))", "sum(tensor([1.0, 2.0], dtype=f16))",
        "sum(tensor([60000.0, 60000.0], dtype=f16))",
                "mean(tensor([60000.0, 60000.0], dtype=f16))", "sum(tensor([1, 2], dtype=i8)).dtype",
                "sum(tensor([9223372036854775807, 1]))", "prod(tensor([true, false]))", "amax(tensor([true, false]))",
                "max(tensor([true, false]))", "argmax(tensor([false, true]))", "any(tensor([0.0, nan]))",
                "all(tensor([nan, 1.0]))", "any(tensor([0, 2], dtype=u8))", "all(tensor([0, 2], dtype=u8))",
                "std(tensor([1, 2]))", "var(tensor([true]))", "norm(tensor([1, 2]))",
                "norm(tensor([3, 4]), dtype=f32)", "logsumexp(tensor([1, 2]), dim=0)",
                "softmax(tensor([1, 2]), dim=0)", "softmax(tensor([1, 2]), dim=0, dtype=f64)",
                "log_softmax(tensor([1.0, 2.0]), dim=0, dtype=f64)", "softmax(tensor([true]), dim=0)"]


def special():
    for name in PLAIN:
        extra = ", dim=0" if name in NEEDS_DIM else ""
        yield f"{name}(tensor(3.0){extra})"
        yield f"{name}(zeros(0){extra})"
        for dim in ["0", "1", "2"]:
            yield f"{name}(zeros(2, 0, 3){', 2' if name == 'norm' else ''}, dim={dim})"
        yield f"{name}(tensor([1.0, nan, inf, -inf]){extra})"
        yield f"{name}(tensor([inf, 1.0, 2.0]){extra})"
        yield f"{name}(tensor([-inf, -inf]){extra})"
        yield f"{name}(tensor([[1.0, nan], [nan, 2.0]]){', 2' if name == 'norm' else ''}, dim=1)"
        yield f"{name}(tensor([5.0]){extra})"
        if name not in NEEDS_DIM and name != "count_nonzero":
            yield f"{name}(tensor(3.0){', 2' if name == 'norm' else ''}, dim=0)"
            yield f"{name}(tensor(3.0){', 2' if name == 'norm' else ''}, dim=-1, keepdim=true)"
            yield f"{name}(tensor(3.0){', 2' if name == 'norm' else ''}, dim=1)"
        yield f"{name}(arange(12.0).reshape(3, 4)[::2, ::3]{extra})"
        yield f"{name}(tensor([2.0]).expand(3){extra})"
        yield f"{name}(arange(6.0).reshape(2, 3).t(){', 2' if name == 'norm' else ''}, dim=0)"
    yield from [
        "argmax(tensor([1, 3, 3, 2]))", "argmin(tensor([1, 0, 3, 0]))", "argmax(tensor([[1, 3], [3, 1]]))",
        "argmax(tensor([1.0, nan, nan]))", "argmin(tensor([1.0, nan, -inf]))",
        "argmax(tensor([[1, 1], [0, 2]]), dim=1)", "argmax(tensor([[1, 2], [0, 2]]), dim=0, keepdim=true)",
        "argmax(tensor([[1, 2], [0, 2]]), keepdim=true)", "argmax(zeros(0))", "argmax(zeros(0, 2), dim=1)",
        "argmax(zeros(0, 2), dim=0)",
        "max(tensor([[1, 3], [3, 1]]), dim=1)", "max(tensor([1, 3, 3]), dim=0)", "min(tensor([[1.0, nan]]), dim=1)",
        "max(tensor([5]), tensor([3]))", "min(tensor([[1], [2]]), tensor(1))", "max(tensor(4), tensor(-1))",
        "max(tensor([1, 2]), tensor([2, 1]))", "min(tensor([1, 2]), tensor([1.5, 1.5]))", "max(zeros(0))",
        "max(zeros(0, 2), dim=0)", "max(zeros(0, 2), dim=1)", "max(tensor([0.0, -0.0]))",
        "amax(tensor([1, 5, 5]), dim=0)", "amin(zeros(0, 2), dim=1)", "amin(zeros(0, 2), dim=0)", "amax(zeros(2, 0))",
        "var(tensor([1.0, 2.0, 4.0]))", "var(tensor([1.0, 2.0, 4.0]), unbiased=false)",
        "var(tensor([1.0, 2.0, 4.0]), correction=0)", "var(tensor([1.0, 2.0, 4.0]), correction=2)",
        "var(tensor([1.0, 2.0, 4.0]), correction=3)", "var(tensor([1.0, 2.0, 4.0]), correction=5)",
        "std(tensor([1.0, 2.0, 4.0]), correction=0.5)", "var(tensor([1.0]))",
        "std(tensor([[1.0, 2.0], [3.0, 5.0]]), dim=1, keepdim=true)",
        "var(tensor([[1.0, 2.0], [3.0, 5.0]]), 1, false)",
        "std(tensor([[1.0, 2.0], [3.0, 5.0]]), dim=(0, 1), correction=0)",
        "var(tensor([[1.0, 2.0], [3.0, 5.0]]), dim=0, unbiased=false)", "var(tensor([1.0, 2.0]), false)",
        "std(tensor([1.0, 2.0, 4.0]), unbiased=true)", "var(tensor([1e8, 1e8 + 1, 1e8 + 2], dtype=f64))",
        "var(tensor([10000.0, 10001.0, 10002.0]))", "std(tensor(5.0))", "std(tensor([1.0, 2.0], dtype=bf16))",
        "norm(tensor([3.0, -4.0]), 1)", "norm(tensor([3.0, -4.0]), 3)", "norm(tensor([3.0, -4.0]), 0)",
        "norm(tensor([3.0, -4.0]), inf)", "norm(tensor([3.0, -4.0]), -inf)", "norm(tensor([3.0, -4.0]), 0.5)",
        "norm(tensor([3.0, -4.0]), -1)", "norm(tensor([3.0, 0.0]), -2)",
        "norm(tensor([[3.0, -4.0], [1.0, 0.0]]), 2, 1)",
        "norm(tensor([[3.0, -4.0], [1.0, 0.0]]), p=1, dim=0, keepdim=true)",
        "norm(tensor([[3.0, -4.0], [1.0, 0.0]]), inf, (0, 1))", "norm(tensor([[3.0, -4.0], [1.0, 0.0]]), dim=1)",
        "norm(tensor([3.0, nan]), inf)", "norm(zeros(0), 1)", "norm(zeros(0), inf)", "norm(tensor([1e30, 1e30]))",
        "norm(tensor([300.0, 400.0], dtype=f16))", "norm(tensor([3.0, 4.0]), 2, 0, true)",
        "norm(tensor([3.0, 4.0]), dtype=f64)", "norm(tensor([3.0, 4.0], dtype=f64), dtype=f32)",
        "logsumexp(tensor([1000.0, 1000.0]), 0)", "logsumexp(tensor([-inf, 1.0]), 0)",
        "logsumexp(tensor([inf, -inf]), 0)", "logsumexp(tensor([[1.0, 2.0], [3.0, 4.0]]), (0, 1))",
        "logsumexp(tensor([[1.0, 2.0], [3.0, 4.0]]), 1, keepdim=true)", "logsumexp(tensor(2.0), 0)",
        "logsumexp(zeros(0), 0)", "logsumexp(zeros(2, 0), 1)", "logsumexp(tensor([nan, 1.0]), 0)",
        "softmax(tensor([1000.0, 1000.0]), 0)", "softmax(tensor([-inf, 0.0]), 0)", "softmax(tensor([-inf, -inf]), 0)",
        "softmax(tensor([inf, 0.0]), 0)", "softmax(zeros(0), 0)", "softmax(zeros(2, 0), 0)",
        "softmax(tensor(2.0), 0)", "softmax(tensor([[1.0, 2.0], [3.0, 4.0]]), -2)",
        "log_softmax(tensor([1000.0, 0.0]), 0)", "log_softmax(tensor([-inf, 0.0]), 0)",
        "softmax(tensor([1.0, 2.0], dtype=f16), 0)", "softmax(tensor([1.0, 2.0], dtype=bf16), 0)",
        "softmax(tensor([1.0, 2.0], dtype=f16), 0, dtype=f32)",
        "cumsum(tensor([1, 2, 3]), 0)", "cumsum(tensor([[1, 2], [3, 4]]), -1)", "cumsum(tensor([1.5, nan, 2.0]), 0)",
        "cumsum(tensor(3), 0)", "cumsum(zeros(0), 0)", "cumsum(tensor([true, true]), 0)",
        "cumsum(tensor([100, 100], dtype=i8), 0)", "cumsum(tensor([100, 100]), 0, dtype=i8)",
        "cumsum(tensor([1.9, 1.9]), 0, dtype=i64)", "cumprod(tensor([2, 3, 4], dtype=u8), 0)",
        "cumprod(tensor([0.5, 0.0, 3.0]), 0)", "cumprod(tensor([1, 2]), 1)", "cumsum(tensor([1, 2]))",
        "tensor([1, 2, 3]).cumsum_(0)", "tensor([1, 2], dtype=i8).cumsum_(0)", "tensor([1.0, 2.0]).cumprod_(0)",
        "count_nonzero(tensor([0, 1, 2]))", "count_nonzero(tensor([0.0, -0.0, nan]))",
        "count_nonzero(tensor([[1, 0], [1, 1]]), dim=0)", "count_nonzero(tensor([[1, 0], [1, 1]]), dim=(0, 1))",
        "count_nonzero(tensor([true, false]))", "count_nonzero(zeros(0))", "any(zeros(0))", "all(zeros(0))",
        "any(zeros(0, 3), dim=0)", "all(zeros(0, 3), dim=0)", "all(tensor([[1, 0], [1, 1]]), dim=(0, 1))",
        "any(tensor([[0, 0], [1, 0]]), dim=(0, 1), keepdim=true)", "all(tensor([]))",
        "any(tensor([[0, 0], [1, 0]]), dim=1)",
        "sum(zeros(0))", "sum(zeros(0, dtype=i32))", "prod(zeros(0))", "mean(zeros(0))", "sum(zeros(2, 0), dim=1)",
        "prod(zeros(2, 0), dim=1)", "mean(zeros(2, 0), dim=1)",
        "sum(tensor([[1, 2], [3, 4]]), dim=(0, 1), keepdim=true)", "sum(tensor([[1, 2], [3, 4]]), (0,))",
        "sum(tensor([1, 2]), dim=0, dtype=f64)", "prod(tensor([[1, 2], [3, 4]]), 0)",
        "prod(tensor([[1, 2], [3, 4]]), dim=1, keepdim=true)", "prod(tensor([1.5, 2.0]), dim=0, dtype=f64)",
        "mean(tensor([[1.0, 2.0], [3.0, 4.0]]), dim=(0, 1), dtype=f64)",
        "mean(tensor([[1.0, 2.0], [3.0, 4.0]]), 0, true)", "sum(tensor([1.0, 2.0]), dim=2)",
        "mean(tensor([1.0, 2.0]), dim=-2)", "tensor([[1.0, 2.0]]).sum(0, true)", "tensor([[1, 2]]).sum([0, 1])",
        "sum(arange(1000, dtype=u8))", "sum(ones(1000, dtype=f16))", "mean(ones(70000, dtype=f16))",
        "sum(ones(300, dtype=bf16))",
    ]


def cases():
    yield from dims()
    yield from dtypes()
    yield from special()
