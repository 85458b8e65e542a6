"""Expressions over the functions of stdlib/prelude_shapes.kiln and prelude_grids.kiln."""
from cases_composed import CUBE, MATRIX, gradients

VECTOR = "arange(7)"
INPUTS = ["tensor(2.0)", VECTOR, MATRIX, CUBE, "zeros(0)", "zeros(2, 0)"]


def shapes():
    for name in ["atleast_1d", "atleast_2d", "atleast_3d"]:
        for x in INPUTS:
            yield f"{name}({x})"
        yield f"{name}(tensor(1), ones(2))"
        yield f"{name}([tensor(1), ones(2), ones(2, 2)])"
    for name in ["hstack", "vstack", "dstack", "column_stack"]:
        for parts in ["tensor([1, 2]), tensor([3, 4])", "tensor(1), tensor(2.5)", "ones(2, 3), zeros(2, 3)", "ones(2, 1), ones(2)",
                      "ones(2, 3, 1), zeros(2, 3, 1)", "tensor([1]), tensor([2.5], dtype=f64), tensor([true])", "ones(2), ones(3)",
                      "zeros(0), ones(2)", "ones(1, 2), ones(3, 2)", "ones(2)", ""]:
            yield f"{name}([{parts}])"
    for x in [VECTOR, "arange(12).reshape(3, 4)", CUBE, "tensor(1)", "zeros(0, 2)"]:
        for rest in ["1", "2", "3", "0", "9", "[1, 2]", "[0, 2, 9]", "(-1,)", "[3, 1]", "[]", "2, dim=1", "2, -1", "[1], 1",
                     "tensor([1, 2])", "tensor(2)"]:
            yield f"tensor_split({x}, {rest})"
    for name in ["hsplit", "vsplit", "dsplit"]:
        for x in [VECTOR, "arange(12).reshape(3, 4)", CUBE, "tensor(1)"]:
            for cuts in ["1", "2", "[1, 2]", "3", "0"]:
                yield f"{name}({x}, {cuts})"
    for x in INPUTS:
        yield from [f"fliplr({x})", f"flipud({x})", f"diagflat({x})", f"diagflat({x}, 1)", f"diagflat({x}, offset=-2)"]
        for rest in ["", ", 2", ", -1", ", k=4", ", 1, [1, 0]", ", 1, (0, 2)", ", 3, [-1, 0]", ", 1, [0, 0]", ", 1, [0]", ", 2, [1, 2]"]:
            yield f"rot90({x}{rest})"
    for parts in ["tensor([[1, 2]]), tensor([3])", "ones(2, 2), tensor(5.0), zeros(1, 3)", "", "tensor([1]), tensor([2.5])",
                  "ones(2, 2, 2)", "zeros(0), ones(2, 1)"]:
        yield f"block_diag({parts})"
    for x in [VECTOR, MATRIX, "tensor(2.0)"]:
        for index in ["tensor([0])", "tensor([[0, -1], [2, 1]])", "tensor(0)", "zeros(0, dtype=i64)", "tensor([12])", "tensor([0.0])"]:
            yield f"take({x}, {index})"
    yield from gradients([
        (MATRIX, "hstack([x, x[:, :1]])"), (MATRIX, "tensor_split(x, 3, 1)[1]"), (MATRIX, "rot90(x, 3)"), (MATRIX, "diagflat(x[0])"),
        (MATRIX, "block_diag(x, x[0], x)"), (MATRIX, "take(x, tensor([0, 1, 1, -1]))"), ("tensor(2.0)", "atleast_3d(x)")])


def grids():
    for parts in ["(2, 1), (3,)", "", "(2,), (3,)", "(5,), (4, 1), (2, 1, 1)", "(0, 1), (1, 3)", "3, (2, 1)", "(1,), (0,)"]:
        yield f"broadcast_shapes({parts})"
    yield from ["broadcast_tensors(ones(2, 1), arange(3))", "broadcast_tensors(tensor(1), tensor([[2.0]]))", "broadcast_tensors(ones(2), ones(3))"]
    for name in ["tril_indices", "triu_indices"]:
        for rest in ["3, 3", "2, 4", "4, 2, 1", "3, 3, offset=-1", "3, 3, -5", "0, 3", "3, 3, dtype=i32", "-1, 2"]:
            yield f"{name}({rest})"
    yield from ["cartesian_prod(tensor([1, 2]), tensor([3, 4, 5]))", "cartesian_prod(tensor([1, 2]))",
                "cartesian_prod(tensor([1, 2]), tensor([3]), tensor([5, 6]))", "cartesian_prod(ones(2), ones(2, 2))",
                "cartesian_prod(ones(2), zeros(0))"]
    for rest in ["", ", 1", ", 3", ", r=0", ", 5", ", with_replacement=true", ", 3, true", ", -1"]:
        yield f"combinations(tensor([4, 2, 7, 5]){rest})"
    yield from ["combinations(ones(2, 2))", "combinations(zeros(0))", "combinations(tensor([1.0]))"]
    for x in ["tensor([1, 2, 3])", "tensor([0.5, -2.0])", "tensor([0, 1], dtype=u8)", "zeros(0)", "ones(2, 2)", "tensor([2.0], dtype=f16)"]:
        for rest in ["", ", 2", ", N=5", ", increasing=true", ", 0", ", 1, true", ", -1"]:
            yield f"vander({x}{rest})"
    for rest in ["0, 2, 3", "-2.0, 2.0, 5", "0, 8, 9, base=2.0", "1, 1, 1", "0, 1, 0", "0, 1, 2, dtype=f64", "0, 3, 4, dtype=i32", "0, 1, -1"]:
        yield f"logspace({rest})"
    yield from gradients([
        (MATRIX, "broadcast_tensors(x, ones(2, 1, 1))[0]"), (MATRIX, "cartesian_prod(x[0], x[1])"), (MATRIX, "combinations(x[0], 3)")])
