"""Expressions that pick and place elements, and those that order them."""
from cases_elementwise import DTYPES


def along_a_dim():
    x = "arange(12).reshape(3, 4)"
    yield from [
        f"gather({x}, 0, tensor([[0, 1, 2, 0]]))", f"gather({x}, 1, tensor([[0], [1], [3]]))",
        f"gather({x}, 1, tensor([[0, 0]]))", f"gather({x}, 1, tensor([[4]]))", f"gather({x}, 1, tensor([[-1]]))",
        f"gather({x}, -1, tensor([[0, 3]]))", f"gather({x}, 1, tensor([0]))",
        f"gather({x}, 0, tensor([[0, 1, 2, 0, 1]]))", f"gather({x}, 1, tensor([[0], [0], [0], [0]]))",
        f"gather({x}, 1, tensor([[0]], dtype=i32))", f"gather({x}, 1, tensor([[0.0]]))",
        f"gather({x}, 2, tensor([[0]]))", "gather(tensor(5), 0, tensor(0))", "gather(tensor([5, 6]), 0, tensor(1))",
        "gather(tensor(5), 0, tensor([0, 0]))", f"gather({x}, 1, zeros(3, 0, dtype=i64))",
        f"gather({x}.t(), 1, tensor([[2], [1]]))", f"gather({x}, 0, tensor([[2, 1], [0, 0]]).t())",
        f"gather({x}.to(f16), 1, tensor([[1]]))", f"gather({x}, 1, tensor([[0]], dtype=u8))",
        f"take_along_dim({x}, tensor([[0, 1, 2, 0]]), 0)", f"take_along_dim({x}, tensor([[0], [1], [3]]), 1)",
        f"take_along_dim({x}, tensor([[1]]), 1)", f"take_along_dim({x}, tensor([0, 11, 5]))",
        f"take_along_dim({x}, tensor([[-1]]), 1)", f"take_along_dim({x}, tensor([1]), 1)",
        f"take_along_dim({x}, tensor([[0, 1], [1, 0]]))", f"take_along_dim({x}, argsort({x}, 1), dim=-1)",
        f"take_along_dim({x}, tensor([[4]]), 1)", f"take_along_dim({x}, tensor([[0.5]]), 1)",
        f"index_select({x}, 0, tensor([2, 0]))", f"index_select({x}, 1, tensor([3, 3]))",
        f"index_select({x}, -1, tensor([0]))", f"index_select({x}, 0, tensor([3]))",
        f"index_select({x}, 0, tensor([-1]))", f"index_select({x}, 0, tensor(1))",
        f"index_select({x}, 0, tensor([[1]]))", f"index_select({x}, 0, tensor([1], dtype=i32))",
        f"index_select({x}, 0, tensor([1.0]))", f"index_select({x}, 0, zeros(0, dtype=i64))",
        f"index_select({x}.t(), 0, tensor([1]))", "index_select(tensor(5), 0, tensor([0]))",
        "index_select(tensor(5), 0, tensor([0, 0]))", f"index_select({x}, 2, tensor([0]))",
        f"index_select({x}, 0, tensor([1], dtype=u8))",
        "index_add(zeros(3), 0, tensor([0, 2]), tensor([1.0, 2.0]))",
        "index_add(zeros(3), 0, tensor([0, 0]), tensor([1.0, 2.0]))",
        "index_add(zeros(3), 0, tensor([0, 0]), tensor([1.0, 2.0]), alpha=2)",
        "index_add(tensor([[false, true]]), 1, tensor([0, 1]), tensor([[true, false]]), alpha=3)",
        "index_add(zeros(2, 3), 1, tensor([0]), ones(2, 1))", "index_add(zeros(2, 3), 1, tensor([0]), ones(2))",
        "index_add(zeros(3), 0, tensor([3]), ones(1))", "index_add(zeros(3), 0, tensor([0]), tensor([1]))",
        "index_add(zeros(3, dtype=i64), 0, tensor([0]), tensor([1]), alpha=1.5)",
        "index_add(zeros(3, dtype=i64), 0, tensor([0]), tensor([4]), alpha=3)",
        "index_add(zeros(3, dtype=bool), 0, tensor([0]), tensor([true]))",
        "index_add(zeros(3, dtype=i8), 0, tensor([0, 0]), tensor([100, 100], dtype=i8))",
        "index_add(tensor(1.0), 0, tensor([0]), tensor([2.0]))", "index_add(tensor(1.0), 0, tensor(0), tensor(2.0))",
        "index_add(zeros(3), 0, tensor(1), tensor(2.0))", "index_add(zeros(3), 0, tensor([-1]), ones(1))",
        "zeros(3).index_add_(0, tensor([1, 1]), ones(2), alpha=-1)",
        "index_add(zeros(2, 3).t(), 0, tensor([1]), ones(1, 2))",
        "index_add(zeros(3), 0, tensor([0, 1]), ones(1).expand(2))",
        "index_add(zeros(3, dtype=f16), 0, tensor([0, 0]), ones(2, dtype=f16), alpha=0.1)",
        "zeros(3).index_fill_(0, tensor([0, 2]), 5)", "zeros(2, 3).index_fill(1, tensor([0]), 5)",
        "zeros(2, 3).index_fill(-1, tensor([0, 1]), tensor(7.0))", "zeros(3).index_fill(0, tensor([3]), 1)",
        "zeros(3).index_fill(0, tensor([-1]), 1)", "zeros(3, dtype=i64).index_fill(0, tensor([0]), 1.5)",
        "zeros(3).index_fill(0, tensor([0]), tensor([1.0]))",
        "embedding(tensor([0, 2]), arange(6.0).reshape(3, 2))",
        "embedding(tensor([[0], [1]]), arange(6.0).reshape(3, 2))",
        "embedding(tensor([3]), arange(6.0).reshape(3, 2))", "embedding(tensor([-1]), arange(6.0).reshape(3, 2))",
        "embedding(tensor(1), arange(6.0).reshape(3, 2))",
        "embedding(tensor([1], dtype=i32), arange(6.0).reshape(3, 2))",
        "embedding(tensor([1.0]), arange(6.0).reshape(3, 2))",
        "embedding(tensor([1]), arange(6.0).reshape(3, 2), padding_idx=0)", "embedding(tensor([1]), arange(3.0))",
        "embedding(zeros(0, dtype=i64), arange(6.0).reshape(3, 2))",
        "embedding(tensor([1]), arange(6).reshape(3, 2))",
        "embedding(tensor([1]), arange(6.0).reshape(3, 2), padding_idx=5)",
        "embedding(tensor([1]), arange(6.0).reshape(3, 2), padding_idx=-1)",
    ]
    for name in ["scatter", "scatter_add"]:
        yield from [
            f"{name}(zeros(3), 0, tensor([0, 2]), tensor([1.0, 2.0]))",
            f"{name}(zeros(2, 3), 1, tensor([[0], [2]]), ones(2, 1))",
            f"{name}(zeros(2, 3), 0, tensor([[1, 0, 1]]), ones(1, 3))",
            f"{name}(zeros(2, 3), 0, tensor([[1, 0]]), ones(2, 3))", f"{name}(zeros(3), 0, tensor([3]), ones(1))",
            f"{name}(zeros(3), 0, tensor([-1]), ones(1))", f"{name}(zeros(3), 0, tensor([0]), tensor([1]))",
            f"{name}(zeros(3), 0, tensor([0, 1]), ones(1))", f"{name}(zeros(2, 3), 0, tensor([0]), ones(1))",
            f"{name}(zeros(3, dtype=i64), 0, tensor([0]), tensor([5]))",
            f"{name}(tensor(1.0), 0, tensor(0), tensor(2.0))",
            f"{name}(zeros(3), 0, tensor([0], dtype=i32), ones(1))",
            f"{name}(zeros(3), 0, zeros(0, dtype=i64), ones(1))",
            f"{name}(zeros(2, 3).t(), 0, tensor([[1, 2]]), ones(1, 2))",
            f"zeros(3).{name}_(0, tensor([1, 0]), tensor([5.0, 6.0]))",
            f"{name}(zeros(2, 3), -1, tensor([[0, 1], [1, 2]]), ones(2, 2))",
            f"{name}(zeros(2, 3), 0, tensor([[0, 0, 0], [1, 1, 1], [0, 1, 0]]), ones(3, 3))",
            f"{name}(zeros(2, 3), 1, tensor([[0], [0], [0]]), ones(3, 1))",
            f"{name}(zeros(3, dtype=bool), 0, tensor([1]), tensor([true]))",
            f"{name}(zeros(3, dtype=f16), 0, tensor([1, 2]), tensor([0.5, 0.1], dtype=f16))",
        ]
    yield from ["scatter(zeros(3), 0, tensor([0, 2]), 7)", "scatter(zeros(3), 0, tensor([0, 2]), 7.5)",
        "scatter(zeros(3, dtype=i64), 0, tensor([0, 2]), 7)", "scatter(zeros(3, dtype=i64), 0, tensor([0, 2]), 7.5)",
        "scatter(zeros(2, 3), 1, tensor([[0], [1]]), value=2)", "zeros(3).scatter_(0, tensor([0]), 3)",
        "scatter(zeros(3, dtype=u8), 0, tensor([0]), 255)",
        "scatter_add(zeros(3), 0, tensor([0, 0]), tensor([1.0, 2.0]))",
        "scatter_add(zeros(3, dtype=u8), 0, tensor([0, 0]), tensor([200, 100], dtype=u8))",
        "scatter(zeros(3), 0, tensor([[0]]), 1)"]
    for reduce in ["add", "multiply"]:
        yield f"scatter(tensor([1.0, 2.0, 3.0]), 0, tensor([0, 2]), tensor([5.0, 6.0]), reduce=\"{reduce}\")"
        yield f"scatter(tensor([1.0, 2.0, 3.0]), 0, tensor([0, 0]), 2, reduce=\"{reduce}\")"
        yield f"tensor([1, 2, 3]).scatter_(0, tensor([0, 0]), tensor([5, 6]), reduce=\"{reduce}\")"
    for reduce in ["sum", "prod", "mean", "amax", "amin"]:
        for dtype in ["f32", "i64", "u8", "f16"]:
            yield f"scatter_reduce(tensor([1, 2, 3], dtype={dtype}), 0, tensor([0, 0, 2]), tensor([5, 6, 1], dtype={dtype}), reduce=\"{reduce}\")"
        yield f"scatter_reduce(tensor([1.0, 2.0, 3.0]), 0, tensor([0, 0, 2]), tensor([5.0, 6.0, 1.0]), reduce=\"{reduce}\", include_self=false)"
        yield f"scatter_reduce(zeros(2, 3), 1, tensor([[0, 0], [2, 2]]), tensor([[5.0, nan], [1.0, 2.0]]), \"{reduce}\")"
        yield f"tensor([7, 8]).scatter_reduce_(0, tensor([1, 1, 1]), tensor([1, 2, 4]), reduce=\"{reduce}\", include_self=false)"


def advanced():
    x = "arange(24).reshape(2, 3, 4)"
    yield from [
        f"{x}[tensor([1, 0])].shape", f"{x}[[1, 0], [0, 2]]", f"{x}[tensor([[0, 1]]), tensor([[2], [1]])].shape",
        f"{x}[:, tensor([0, 2])].shape", f"{x}[tensor([0]), :, tensor([1])].shape",
        f"{x}[0, tensor([0, 1]), tensor([1, 2])]", f"{x}[..., tensor([0, 3])].shape",
        f"{x}[tensor([true, false])].shape", f"{x}[{x} > 20]",
        f"{x}[tensor([[true, false, true], [false, true, false]])].shape", f"{x}[tensor([true, false, true])]",
        f"{x}[tensor([2])]", f"{x}[tensor([-1, -2])].shape", f"{x}[tensor([-3])]", f"{x}[none, tensor([0])].shape",
        f"{x}[tensor([0, 1]), none, tensor([0, 1])].shape", f"{x}[1, :, tensor([0, 1])].shape",
        f"{x}[:, 1, tensor([0, 1])].shape", f"{x}[tensor(1)].shape", f"{x}[tensor(1), tensor(2), tensor(3)]",
        f"{x}[[0, 1]].shape", f"{x}[tensor([0, 1]), tensor([0, 1, 2])]", f"{x}[zeros(0, dtype=i64)].shape",
        f"{x}[tensor([0.0])]", f"{x}[tensor([0], dtype=i32)].shape", f"{x}[tensor([0], dtype=u8)].shape",
        "arange(3)[tensor(true)]", "arange(3)[tensor(false)]", "tensor(5)[tensor(true)]",
        "arange(5)[tensor([true, false, true, true, false])]", "arange(5)[zeros(5, dtype=bool)]",
        "arange(5)[[true, false, true, true, false]]", f"{x}[0:1, tensor([0, 2]), ::2].shape",
        f"{x}.permute(2, 0, 1)[tensor([3, 0])].shape", f"{x}[tensor([0, 1]), :, 1:3].shape",
        f"{x}[:, [0, 2], none].shape",
        "x = zeros(2, 3); x[0] = 1; x", "x = zeros(2, 3); x[:, 1] = tensor([1.0, 2.0]); x",
        "x = zeros(2, 3); x[:, 1] = tensor([1.0, 2.0, 3.0]); x",
        "x = zeros(2, 3); x[tensor([1]), tensor([2])] = 5; x", "x = zeros(2, 3); x[x == 0] = 7; x",
        "x = zeros(4); x[[0, 0, 1]] = tensor([1.0, 2.0, 3.0]); x[1]",
        "x = zeros(3); x[tensor([true, false, true])] = tensor([1.0, 2.0]); x",
        "x = zeros(3); x[tensor([true, false, true])] = tensor([1.0, 2.0, 3.0]); x",
        "x = zeros(3, dtype=i64); x[0] = 2.7; x", "x = zeros(3, dtype=i64); x[tensor([0])] = 2.7; x",
        "x = zeros(3, dtype=i64); x[:2] = tensor([1.7, 2.7]); x",
        "x = zeros(3, dtype=i64); x[[0, 1]] = tensor([1.7, 2.7]); x", "x = zeros(2, 2); x[...] = 3; x",
        "x = zeros(3); x[5] = 1; x", "x = zeros(3); x[-1] = 1; x",
        "x = zeros(2, 3); x[1:, ::2] = tensor([[1.0, 2.0]]); x", "x = zeros(2, 3); x[none, 0] = 5; x",
        "x = zeros(2, 3); x[0] = tensor([[1.0, 2.0, 3.0]]); x", "x = zeros(2, 3); x[0] = zeros(2, 3); x",
        "x = zeros(3); x[[0, 1]] += 1; x", "x = zeros(3); x[[0, 0]] += 1; x",
        "x = arange(6).reshape(2, 3); x[:, [0, 2]] *= 10; x", "x = arange(6).reshape(2, 3); x[1] -= 1; x",
        "x = arange(5); x[1:] = x[:-1]; x", "x = arange(5); x[tensor(true)] = 9; x",
        "x = arange(3); x[zeros(3, dtype=bool)] = 9; x", "x = arange(3.0); x[x > 0] = nan; x",
        "x = zeros(2, 2, dtype=bool); x[0, 1] = true; x",
        "index_put(zeros(3), [tensor([0, 2])], tensor([1.0, 2.0]))",
        "index_put(zeros(3), [tensor([0, 0])], tensor([1.0, 2.0]), accumulate=true)",
        "index_put(zeros(2, 3), [tensor([0, 1]), tensor([2, 0])], tensor(5.0))",
        "index_put(zeros(2, 3), [tensor([0])], ones(3))", "index_put(zeros(2, 3), [tensor([0])], ones(2))",
        "index_put(zeros(3), [tensor([3])], tensor(1.0))",
        "index_put(zeros(3), [tensor([true, false, true])], tensor([1.0, 2.0]))",
        "index_put(zeros(3), [tensor([0])], tensor([1]))",
        "index_put(zeros(3, dtype=i64), [tensor([0, 0, 0])], tensor([1, 2, 3]), accumulate=true)",
        "zeros(3).index_put_([tensor([1])], tensor(4.0))", "index_put(zeros(3), [tensor([-1])], tensor(1.0))",
        "index_put(zeros(2, 3), [tensor([0, 0]), tensor([1, 1])], tensor([1.0, 2.0]), true)",
        "index_put(zeros(2, 2), [tensor([0]), tensor([0]), tensor([0])], tensor(1.0))",
        "masked_select(tensor([1, 2, 3]), tensor([true, false, true]))",
        "masked_select(tensor([[1, 2], [3, 4]]), tensor([true, false]))",
        "masked_select(tensor([1, 2]), tensor([[true], [false]]))", "masked_select(tensor([1, 2]), tensor([1, 0]))",
        "masked_select(tensor([1, 2]), tensor([true, false, true]))", "masked_select(tensor(5), tensor(true))",
        "masked_select(tensor(5), tensor(false))", "masked_select(zeros(0), zeros(0, dtype=bool))",
        "masked_select(arange(6).reshape(2, 3).t(), arange(6).reshape(2, 3).t() > 2)",
        "tensor([1.0, nan]).masked_select(tensor([false, true]))",
        "nonzero(tensor([0, 1, 2]))", "nonzero(tensor([[0, 1], [1, 0]]))", "nonzero(tensor(5))", "nonzero(tensor(0))",
        "nonzero(zeros(2, 0))", "nonzero(tensor([true, false]))", "nonzero(tensor([0.0, nan, -0.0]))",
        "nonzero(zeros(3))", "nonzero(tensor([[0, 1], [1, 0], [1, 1]]).t())",
        "nonzero(tensor([[0, 1], [1, 1]]), as_tuple=true)", "nonzero(tensor([0, 3], dtype=u8))",
        "nonzero(tensor([0.0, 0.5], dtype=f16))",
    ]


def orders():
    x = "tensor([[3.0, 1.0, nan, 2.0], [inf, -inf, 0.0, -0.0]])"
    for name in ["sort", "argsort"]:
        yield from [f"{name}({x})", f"{name}({x}, descending=true)", f"{name}({x}, 0)",
            f"{name}({x}, dim=0, descending=true)", f"{name}({x}.t(), 0)",
            f"{name}(tensor([2, 1, 2, 1]), stable=true)",
            f"{name}(tensor([2, 1, 2, 1]), descending=true, stable=true)", f"{name}(tensor(3))", f"{name}(zeros(0))",
            f"{name}(zeros(2, 0))", f"{name}(zeros(2, 0), 0)", f"{name}(tensor([1, 2]), 1)",
            f"{name}(tensor([[2, 1], [1, 2]]), -2)",
            f"{name}(tensor([1.0, nan, nan, 0.0]), descending=true, stable=true)",
            f"{name}(tensor([0.0, -0.0, 0.0]), stable=true)", f"{name}(tensor(3), 0, true)"]
        for dtype in DTYPES:
            yield f"{name}(tensor([1, 0, 1, 0], dtype={dtype}), stable=true)"
    yield from [
        "topk(tensor([3, 1, 4, 2]), 2)", "topk(tensor([3, 1, 4, 2]), 2, largest=false)",
        "topk(tensor([[3, 1], [4, 2]]), 1, dim=0)", "topk(tensor([[3, 1], [4, 2]]), 1, 1, false)",
        "topk(tensor([3.0, nan, 1.0]), 2)", "topk(tensor([3.0, nan, 1.0]), 2, largest=false)",
        "topk(tensor([3, 1]), 3)", "topk(tensor([3, 1]), 0)", "topk(tensor([3, 1]), -1)", "topk(tensor(5), 1)",
        "topk(tensor(5), 0)", "topk(tensor(5), 2)", "topk(zeros(0), 0)", "topk(zeros(2, 0), 0)",
        "topk(tensor([3, 1, 4], dtype=u8), 1)", "topk(tensor([true, false]), 1)",
        "topk(tensor([3.0, 1.0], dtype=bf16), 1)", "topk(tensor([3, 1, 4, 2]), 4)",
        "topk(arange(6).reshape(2, 3).t(), 2, 0)", "topk(tensor([1, 2]), 1, 1)", "topk(tensor([inf, -inf, 1.0]), 3)",
        "unique(tensor([3, 1, 3, 2]))", "unique(tensor([3, 1, 3, 2]), return_inverse=true)",
        "unique(tensor([3, 1, 3, 2]), return_counts=true)",
        "unique(tensor([3, 1, 3, 2]), return_inverse=true, return_counts=true)", "unique(tensor([[3, 1], [3, 2]]))",
        "unique(tensor([[3, 1], [3, 2]]), return_inverse=true)", "unique(tensor([[1, 2], [1, 2], [0, 5]]), dim=0)",
        "unique(tensor([[1, 2], [1, 2], [0, 5]]), dim=0, return_inverse=true, return_counts=true)",
        "unique(tensor([[1, 1, 2], [3, 3, 4]]), dim=1)",
        "unique(tensor([[1, 1, 2], [3, 3, 4]]), dim=-1, return_counts=true)", "unique(tensor([1.0, nan, nan]))",
        "unique(tensor([0.0, -0.0]))", "unique(tensor([true, false, true]))", "unique(zeros(0))",
        "unique(zeros(0), return_counts=true)", "unique(tensor(5))", "unique(tensor(5), return_inverse=true)",
        "unique(tensor([2.5, 1.5, 2.5], dtype=f16))", "unique(tensor([3, 1], dtype=u8))",
        "unique(tensor([[1, 2], [3, 4]]), dim=2)", "unique(arange(6).reshape(2, 3).t())",
        "unique(zeros(2, 0), dim=0)", "unique(zeros(0, 2), dim=0)", "unique(arange(8).reshape(2, 2, 2), dim=1)",
        "unique(tensor([[[1, 2]], [[1, 2]]]), dim=0)",
        "searchsorted(tensor([1, 3, 5]), tensor([0, 1, 2, 5, 6]))",
        "searchsorted(tensor([1, 3, 5]), tensor([0, 1, 2, 5, 6]), right=true)",
        "searchsorted(tensor([1, 3, 5]), tensor([1, 5]), side=\"right\")",
        "searchsorted(tensor([1, 3, 5]), tensor([1, 5]), side=\"left\")",
        "searchsorted(tensor([1, 3, 5]), tensor([1, 5]), side=\"left\", right=true)",
        "searchsorted(tensor([1, 3, 5]), tensor([1, 5]), side=\"middle\")", "searchsorted(tensor([1, 3, 5]), 3)",
        "searchsorted(tensor([1, 3, 5]), 3, right=true)",
        "searchsorted(tensor([1.0, 3.0, 5.0]), tensor([nan, inf, -inf]))",
        "searchsorted(tensor([5, 1, 3]), tensor([1, 4]), sorter=tensor([1, 2, 0]))",
        "searchsorted(tensor([5, 1, 3]), tensor([1, 4]), sorter=tensor([1, 2]))",
        "searchsorted(tensor([5, 1, 3]), tensor([1, 4]), sorter=tensor([1, 2, 3]))",
        "searchsorted(tensor([1, 3, 5]), tensor([1, 5]), out_int32=true)",
        "searchsorted(tensor([[1, 3], [2, 4]]), tensor([[2, 3], [2, 3]]))",
        "searchsorted(tensor([[1, 3], [2, 4]]), tensor([2, 3]))",
        "searchsorted(tensor([1, 3]), tensor([[2, 3], [1, 4]]))", "searchsorted(tensor([1, 3]), tensor([1.5]))",
        "searchsorted(tensor([1.0, 3.0]), tensor([2]))", "searchsorted(zeros(0), tensor([1.0]))",
        "searchsorted(tensor([1.0]), zeros(0))", "searchsorted(tensor([1, 3, 5]), tensor(4))",
        "searchsorted(tensor([1, 3], dtype=u8), tensor([2], dtype=u8))",
        "searchsorted(tensor([1.0, 3.0], dtype=f16), tensor([2.0], dtype=f16))",
        "searchsorted(tensor(1), tensor([1]))", "searchsorted(tensor([1, 3, 3, 5]), tensor([3]), right=false)",
    ]


def cases():
    yield from along_a_dim()
    yield from advanced()
    yield from orders()
