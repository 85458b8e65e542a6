"""Expressions over PyTorch's other names of ops, and over products, copies and counts composed of ops."""
from cases_composed import CUBE, MATRIX, gradients

UNARY = {"absolute": "[-1.5, 0.0, nan]", "arccos": "[0.25, -0.5, 2.0]", "arccosh": "[1.5, 3.0]", "arcsin": "[0.25, -0.5]",
         "arcsinh": "[0.25, -5.0]", "arctan": "[0.25, -5.0]", "arctanh": "[0.25, -0.5]", "fix": "[1.5, -1.5]",
         "negative": "[1.5, -1.5]", "logsigmoid": "[1.5, -1.5]", "positive": "[1.5, -0.0]"}
BINARY = ["arctan2", "divide", "floor_divide", "multiply", "subtract", "true_divide", "greater", "greater_equal", "less",
          "less_equal", "not_equal"]


def names():
    for name, values in UNARY.items():
        yield f"{name}(tensor({values}))"
        yield f"{name}(tensor({values}, dtype=bf16))"
    for name in [name for name in UNARY if name not in ["logsigmoid", "positive"]]:
        yield f"x = tensor({UNARY[name]}); x.{name}_(); x"
    for name in BINARY:
        yield f"{name}(tensor([3.0, -4.0, 2.5]), tensor([[2.0], [0.75]]))"
        yield f"{name}(tensor([7, -4]), tensor([2, 3]))"
        yield f"tensor([7.0, -4.0]).{name}(tensor(2.0))"
    yield from [
        f"clip({MATRIX}, 0.0, 2.0)", f"clip({MATRIX}, max=1.5)", "x = tensor([1.0, 5.0]); x.clip_(min=2.0); x", "clip(ones(2))",
        "clip(tensor([1, 7]), tensor([2, 2]), tensor([5, 5]))", "divide(tensor([7.0]), tensor([2.0]), rounding_mode='floor')",
        "concat([ones(2), zeros(1)])", "concatenate([ones(1, 2), zeros(1, 2)], 1)", "ger(tensor([1.0, 2.0]), tensor([3.0, 4.0]))",
        "inverse(tensor([[2.0, 1.0], [1.0, 3.0]]))", "pinverse(tensor([[2.0, 0.0], [0.0, 4.0]]))", f"moveaxis({CUBE}, 0, 2)",
        f"ravel({MATRIX}.t())", "ravel(tensor(2.0))", f"{CUBE}.swapaxes(0, 2)", f"swapdims({CUBE}, -1, 1)",
        f"msort({MATRIX})", "msort(tensor(2.0))", "msort(tensor([3, 1, 2]))", "row_stack([tensor([1, 2]), tensor([[3, 4], [5, 6]])])",
        "trapz(tensor([1.0, 2.0, 4.0]))", "trapz(tensor([1.0, 2.0, 4.0]), tensor([0.0, 1.0, 3.0]))", "trapz(ones(3), dx=0.5)",
        "positive(tensor([true]))", "isposinf(tensor([inf, -inf, nan, 1.0]))", "isneginf(tensor([inf, -inf, nan, 1.0]))",
        "isposinf(tensor([1, 2]))", "ldexp(tensor([1.0, 3.0]), tensor([4, -1]))", "ldexp(tensor([1.0], dtype=f64), tensor([2, 3]))",
        "rsub(tensor([1, 2]), 10)", "rsub(tensor([1.0, 2.0]), tensor([4.0, 8.0]), alpha=0.5)", "vector_norm(tensor([3.0, -4.0]))",
        f"vector_norm({MATRIX}, 1, 0)", f"vector_norm({MATRIX}, ord=inf, dim=(0, 1), keepdim=true)", f"vector_norm({MATRIX}, dtype=f64)",
        "xlog1py(tensor([0.0, 2.0, 0.0, nan]), tensor([-1.0, 0.5, nan, 1.0]))", "mvlgamma(tensor([2.5, 3.0]), 3)",
        "mvlgamma(tensor([[2.5, 3.0]], dtype=f64), p=1)", "mvlgamma(ones(2), 0)",
    ]


def products():
    a, b = "(arange(6.0).reshape(2, 3) - 2)", "(arange(12.0).reshape(3, 4) * 5 % 7)"
    batches = "(arange(12.0).reshape(2, 2, 3) - 4), (arange(18.0).reshape(2, 3, 3) * 5 % 7)"
    for x in ["ones(2, 4)", "tensor([1.0, 2.0, 3.0, 4.0])", "tensor(2.0)", "ones(2, 1)", "ones(3)", "ones(1, 2, 4)", "ones(2, 4, dtype=f64)"]:
        yield f"addmm({x}, {a}, {b})"
        yield f"addmm({x}, {a}, {b}, beta=0.5, alpha=-2)"
    for options in ["", ", beta=2", ", alpha=3", ", beta=0", ", beta=0.5, alpha=0.25"]:
        yield f"addmv(tensor([1.0, nan]), {a}, tensor([1.0, 2.0, 3.0]){options})"
        yield f"addr(ones(2, 3), tensor([1.0, 2.0]), tensor([3.0, 4.0, 5.0]){options})"
        yield f"baddbmm(ones(2, 2, 3), {batches}{options})"
        yield f"addbmm(ones(2, 3), {batches}{options})"
        yield f"addmm(tensor([1, 2]), tensor([[1, 2], [3, 4]]), tensor([[5, 6], [7, 8]]){options})"
    yield from [
        f"tensordot({CUBE}, {CUBE}.permute(1, 2, 0), 2)", f"tensordot({a}, {b}, dims=1)", "tensordot(ones(2), ones(3), dims=0)",
        f"tensordot({CUBE}, {CUBE}, dims=([0, 2], [0, 2]))", f"tensordot({CUBE}, {CUBE}, dims=([-1, 0], [2, 0]))",
        f"tensordot({a}, {b}, dims=([0], [0]))", f"tensordot({a}, {b}, dims=([1, 0], [0]))", f"tensordot({a}, {b}, dims=3)",
        "tensordot(zeros(2, 0), zeros(0, 3), dims=1)", "tensordot(zeros(0, 2), ones(2, 3), dims=1)", "tensordot(ones(2, 2), ones(2, 2))",
        "tensordot(tensor([[1, 2], [3, 4]]), tensor([[5, 6], [7, 8]]), dims=1)", f"inner({a}, {b}.t())", "inner(ones(2), ones(3))",
        "inner(tensor([1.0, 2.0]), tensor([3.0, 4.0]))", f"inner({a}, tensor(2.0))", f"inner({CUBE}, ones(4))", "inner(tensor([1, 2]), tensor([3, 4]))",
        "vdot(tensor([1.0, 2.0]), tensor([3.0, 4.0]))", "vdot(tensor([1, 2]), tensor([3, 4]))", "vdot(ones(2, 2), ones(2, 2))",
        f"vecdot({a}, tensor([1.0, 10.0, 100.0]))", f"vecdot({a}, {a}, dim=0)", f"vecdot({CUBE}, {CUBE}, dim=1)", "vecdot(ones(2), ones(3))",
        f"bilinear({a}, {b}[:2, :2], {CUBE}[:, :3, :2])", f"bilinear({a}, {b}[:2, :2], {CUBE}[:, :3, :2], tensor([1.0, 2.0]))",
        f"bilinear({a}[0], {b}[0, :2], {CUBE}[:, :3, :2])", f"bilinear({a}, {b}, {CUBE})",
        f"multi_dot([{a}, {b}])", f"multi_dot([{a}, {b}, ones(4, 2), ones(2, 5)])", f"multi_dot([ones(2), {a}, {b}, ones(4)])",
        f"multi_dot([{a}])", f"multi_dot([{a}, ones(3), {b}])", f"multi_dot([{a}, {a}])", f"chain_matmul({a}, {b}, ones(4, 2))", f"chain_matmul({a})",
        "dist(tensor([1.0, 2.0]), tensor([4.0, 6.0]))", "dist(ones(2, 2), zeros(2), 1)", "dist(ones(2), zeros(2), p=inf)", "dist(ones(2), zeros(2), 0)",
        f"renorm({MATRIX}, 2, 0, 3.0)", f"renorm({MATRIX}, 1, 1, 2.0)", f"renorm({CUBE}, p=2, dim=-1, maxnorm=10.0)", "renorm(ones(2), 2, 0, 1.0)", "renorm(zeros(2, 2), 2, 0, 0.0)",
        "cholesky_solve(ones(2, 1), tensor([[2.0, 0.0], [1.0, 3.0]]))", "cholesky_solve(ones(2, 3), tensor([[2.0, 1.0], [0.0, 3.0]]), upper=true)",
        "cholesky_solve(ones(4, 2, 1), tensor([[2.0, 7.0], [1.0, 3.0]]))", "cholesky_inverse(tensor([[2.0, 0.0], [1.0, 3.0]], dtype=f64))",
        "cholesky_inverse(tensor([[2.0, 1.0], [0.0, 3.0]]), upper=true)", "cholesky_inverse(eye(2).expand(3, 2, 2) * 2) + 0.0",
    ]
    x = "(arange(6.0, dtype=f64).reshape(2, 3) - 2)"
    yield from gradients([(x, call) for call in [
        "addmm(x, x @ x.t(), x, beta=0.5, alpha=2)", "tensordot(x, x, dims=([0], [0]))", "inner(x, x)", "vecdot(x, x)", "multi_dot([x, x.t(), x])",
        "bilinear(x, x, ones(2, 3, 3, dtype=f64))", "renorm(x, 2, 0, 1.0)", "cholesky_solve(x, eye(2, dtype=f64) * 2)"]])


def copies():
    for x in ["tensor([1, 1, 2, 2, 3, 1, 1])", "tensor([[1, 1], [1, 2]])", "tensor([1.0, nan, nan, 2.0])", "zeros(0)", "tensor(2.0)", "tensor([true, true, false])"]:
        yield f"unique_consecutive({x})"
        yield f"unique_consecutive({x}, return_inverse=true, return_counts=true)"
    for dim in [0, 1, -1]:
        yield f"unique_consecutive(tensor([[1, 1, 2], [1, 1, 2], [3, 3, 2]]), return_counts=true, dim={dim})"
        yield f"unique_consecutive(tensor([[1, 1, 2], [1, 1, 2], [3, 3, 2]]), return_inverse=true, dim={dim})"
        yield f"index_copy({MATRIX}, {dim}, tensor([2, 0]), -ones(3, 4).narrow({dim}, 0, 2))"
    yield from [
        "index_copy(zeros(3), 0, tensor([1]), ones(1))", "index_copy(zeros(3), 0, tensor([3]), ones(1))", "index_copy(zeros(3), 0, tensor([1]), ones(2))",
        "index_copy(zeros(3, dtype=f64), 0, tensor([1]), ones(1))", "masked_scatter(zeros(2, 3), tensor([[true, false, true], [false, true, true]]), arange(4.0) + 1)",
        "masked_scatter(zeros(2, 3), tensor([true, false, true]), arange(9.0))", "masked_scatter(zeros(3), tensor([true, true, true]), ones(2))",
        "masked_scatter(zeros(3), tensor([1, 0, 1]), ones(2))", "masked_scatter(zeros(0), zeros(0, dtype=bool), ones(2))", "masked_scatter(ones(2), tensor([false, false]), zeros(0))",
        "masked_scatter(tensor([1, 2]), tensor([true, false]), tensor([7]))", "put(zeros(2, 3), tensor([1, 4]), tensor([5.0, 6.0]))",
        "put(ones(2, 3), tensor([[1, 1]]), tensor([[5.0, 6.0]]), accumulate=true)", "put(zeros(2, 3), tensor([-1]), tensor([5.0]))", "put(zeros(2), tensor([2]), tensor([5.0]))",
        "put(zeros(2), tensor([0, 1]), tensor([5.0]))", "argwhere(tensor([[0, 5], [7, 0]]))", "argwhere(tensor([0.0, nan, 2.0]))", "argwhere(zeros(2, 2))",
        f"narrow_copy({MATRIX}, 1, 1, 2)", f"narrow_copy({MATRIX}, 0, 2, 2)", "ones(2, 3).sum_to_size(3)", "ones(2, 3).sum_to_size(2, 1)", "ones(4, 2, 3).sum_to_size((2, 1))",
        "ones(2, 3).sum_to_size(2)", "ones(2, 3).sum_to_size(4, 2, 3)", "tensor([1.5, -2.5]).type_as(tensor([1]))", "arange(6).reshape_as(ones(3, 2))", "arange(6).reshape_as(ones(4))",
        "unravel_index(tensor([0, 5, 11]), (3, 4))", "unravel_index(tensor([[7], [23]]), (2, 3, 4))", "unravel_index(tensor([2]), 5)", "unravel_index(tensor(5), (2, 3))",
    ]
    x = "tensor([0.5, 1.5, -2.0], dtype=f64)"
    yield from gradients([(x, call) for call in [
        "index_copy(x, 0, tensor([1]), 2 * x[:1])", "masked_scatter(x, tensor([true, false, true]), x * x)", "put(x, tensor([2, 0]), x[:2] * 3)",
        "put(x, tensor([2, 2]), x[:2] * 3, accumulate=true)", "x.expand(2, 3).sum_to_size(1, 3)"]])
