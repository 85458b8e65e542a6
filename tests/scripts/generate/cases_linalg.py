"""Expressions over the linear algebra: values that do not depend on signs of vectors, gradients, refusals."""

SQUARE = "tensor([[4.0, 1.0, 0.5], [-1.5, 3.0, 2.5], [0.25, -2.0, 5.0]], dtype=f64)"
SYMMETRIC = "tensor([[6.0, 1.5, 0.5], [1.5, 4.0, -1.0], [0.5, -1.0, 3.0]], dtype=f64)"
TALL = "tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], dtype=f64)"
BATCH = "tensor([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -1.0], [2.0, 4.0]]], dtype=f64)"
UNARY = ["inv", "det", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "slogdet", "logdet", "pinv",
    "matrix_exp", "matrix_rank", "cond", "matrix_norm"]
ORDERS = ["'fro'", "'nuc'", "inf", "-inf", "1", "-1", "2", "-2", "2.0"]


def factors():
    for name in ["inv", "det", "slogdet", "logdet", "svdvals", "pinv", "matrix_exp", "matrix_rank", "cond",
        "matrix_norm"]:
        for matrix in [SQUARE, SYMMETRIC, BATCH, "tensor([[2.5]])", f"({SQUARE}).to(f32)"]:
            yield f"{name}({matrix})"
    for matrix in [SYMMETRIC, "tensor([[2.25]])", f"({SYMMETRIC}).to(f32)",
        f"matmul({BATCH}, {BATCH}.transpose(1, 2))"]:
        for name in ["cholesky", "eigvalsh"]:
            yield f"{name}({matrix})"
        yield f"cholesky({matrix}, upper=true)"
        yield f"eigvalsh({matrix}, 'U')"
        yield f"eigh({matrix})[0]"
        yield f"eigh({matrix}, UPLO='U')[1].abs()"
        yield f"pinv({matrix}, hermitian=true)"
    for matrix in [SQUARE, TALL, f"{TALL}.t()", BATCH]:
        for mode in ["reduced", "complete"]:
            yield f"qr({matrix}, '{mode}')[0].shape[1]"
            yield f"qr({matrix}, mode='{mode}')[1].abs()"
        yield f"qr({matrix}, mode='r')[0]"
        yield f"svd({matrix})[1]"
        yield f"svd({matrix}, full_matrices=false)[0].abs()"
        yield f"svd({matrix}, false)[2].abs()"
        yield f"svd({matrix})[0].shape[1]"
        yield f"pinv({matrix})"
    for order in ORDERS:
        yield f"matrix_norm({SQUARE}, {order})"
        yield f"matrix_norm({TALL}, ord={order}, dim=(1, 0), keepdim=true)"
        yield f"matrix_norm({BATCH}, {order}, (0, 2))"
        yield f"matrix_norm(zeros(3, 0), {order})"
        yield f"matrix_norm(tensor([[1.0, -2.0], [0.5, 4.0]], dtype=f16), {order})"
        yield f"cond({SQUARE}, {order})"
    for word in ["'fro'", "'nuc'"]:
        yield f"norm({SQUARE}, {word})"
        yield f"norm({TALL}, {word}, keepdim=true)"
        yield f"norm({BATCH}, p={word}, dim=(0, 2))"
        yield f"norm({TALL}, {word}, (0, 1), dtype=f64)"
        yield f"norm(tensor([[1.0, -2.0], [0.5, 4.0]], dtype=f16), {word})"
        yield f"norm({BATCH}, {word})"
        yield f"norm(ones(3), {word})"
        yield f"norm(zeros(3, 0), {word})"
    yield f"norm({BATCH}, 'fro', 1, true)"
    yield "norm(ones(2, 2), 'max')"
    yield from [
        f"matrix_rank({SQUARE}, atol=4.0)", f"matrix_rank({SQUARE}, rtol=0.6)", "matrix_rank(ones(4, 3))",
        "matrix_rank(ones(3, 3), hermitian=true)", f"matrix_rank({BATCH}, atol=2.0, rtol=0.9)",
        "matrix_norm(tensor([[1.0, 2.0]]), dtype=f64)", "matrix_norm(tensor([[1.0, 2.0]], dtype=f64), dtype=f32)",
        "det(zeros(0, 0))", "det(zeros(2, 0, 0))", "inv(zeros(0, 0))", "slogdet(zeros(0, 0))", "inv(zeros(0, 2, 2))",
        "cholesky(zeros(0, 0))", "svdvals(zeros(0, 3))", "eigvalsh(zeros(2, 0, 0))", "pinv(zeros(3, 0))",
        "pinv(zeros(2, 3))", "svd(zeros(3, 0))[0]", "qr(zeros(0, 3))[1]", "slogdet(zeros(2, 2))",
        "det(zeros(2, 2))", "logdet(zeros(2, 2))", "logdet(-eye(3))", "cond(ones(2, 2), 1)",
    ]


def systems():
    for side in ["tensor([1.0, 2.0, 3.0], dtype=f64)", "tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 4.0]], dtype=f64)",
        "ones(2, 3, 1, dtype=f64)"]:
        yield f"solve({SQUARE}, {side})"
        yield f"lstsq({SQUARE}, {side})[0]"
    for a, b in [("2, 2, 2", "2, 2"), ("2, 2, 2", "2"), ("2, 2, 2", "2, 2, 3"), ("2, 1, 2, 2", "3, 2, 1"), ("2, 2", "5, 2, 2"),
        ("3, 2, 2", "3, 2"), ("3, 2, 2", "2, 3"), ("2, 2", "3"), ("2, 2", "0"), ("2, 2", "2, 0"), ("0, 0", "0, 3"), ("3, 2, 2", "4, 2, 1"), ("2, 3", "2")]:
        yield f"solve(ones({a}) + 2 * eye({a.split(', ')[-1]}), ones({b}))"
        yield f"solve(ones({a}) + 2 * eye({a.split(', ')[-1]}), ones({b}), left=false)"
    lower = "tensor([[2.0, 0.0], [1.0, 4.0]])"
    for upper in ["true", "false"]:
        for left in ["true", "false"]:
            for unit in ["true", "false"]:
                yield f"solve_triangular({lower}, tensor([[1.0, 2.0], [3.0, 5.0]]), upper={upper}, left={left}, unitriangular={unit})"
    yield from [
        f"solve_triangular({lower}, ones(2), upper=false)", f"solve_triangular({lower}, ones(3, 2, 1), upper=false)",
        "solve_triangular(tensor([[0.0, 0.0], [1.0, 4.0]]), ones(2, 1), upper=false)",
        f"lstsq({TALL}, tensor([1.0, 2.0, 3.0], dtype=f64))[0]", f"lstsq({TALL}, ones(3, 2, dtype=f64))[0]",
        f"lstsq({TALL}.t(), ones(2, 1, dtype=f64))[0]", f"lstsq({TALL}, ones(3, 2, dtype=f64))[2]",
        f"lstsq({TALL}, ones(4, dtype=f64))",
    ]


def products():
    for exponent in [0, 1, 2, 5, -1, -3]:
        yield f"matrix_power({SQUARE}, {exponent})"
    yield from [
        "matrix_power(tensor([[1, 2], [3, 4]]), 5)", "matrix_power(tensor([[1, 2], [3, 4]]), -1)",
        "matrix_power(ones(2, 3), 2)", "kron(tensor([1, 2]), tensor([[1, 2], [3, 4]]))",
        "kron(tensor([[1, 2]]), tensor([0.5, 2.0]))", "kron(tensor(2), tensor([1, 2]))",
        "kron(ones(2, 1, 2), tensor([[3, 4]]))", "cross(tensor([1, 2, 3]), tensor([4, 5, 6]))",
        "cross(tensor([[1.0, 2.0, 3.0]]), tensor([[4.0, 5.0, 6.0], [1.0, 0.0, 1.0]]))",
        "cross(ones(3, 2), 2 * ones(3, 2), dim=0)", "cross(ones(2), ones(2))", "cross(ones(3), ones(2, 3))",
        "cross(tensor([1, 2, 3]), tensor([0.5, 1.5, 2.5]))",
        "einsum('ij,jk->ik', tensor([[1, 2], [3, 4]]), tensor([[1, 1], [2, 2]]))",
        "einsum('ij,jk', [tensor([[1.0, 2.0]]), tensor([[1.0], [2.0]])])", "einsum('ij->', tensor([[1, 2], [3, 4]], dtype=i32))",
        "einsum('ij->ji', tensor([[true, false]]))", "einsum('ii->i', arange(9).reshape(3, 3))",
        "einsum('...ij,...jk->...ik', ones(2, 1, 2, 3), ones(4, 3, 2))", "einsum('b...,b...->...', arange(6.0).reshape(2, 3), ones(2, 3))",
        "einsum('i,j,k->kji', arange(2), arange(3), arange(2))", "einsum('ij,ij->i', arange(6, dtype=i32).reshape(2, 3), arange(6, dtype=i32).reshape(2, 3))",
        "einsum('bn,anm,bm->ba', arange(6.0).reshape(2, 3), arange(24.0).reshape(2, 3, 4), arange(8.0).reshape(2, 4))",
        "einsum(' i j , j -> i ', ones(2, 3), arange(3.0))", "einsum('Ab,bA', ones(2, 3), ones(3, 2))", "einsum('ba', arange(6).reshape(2, 3))",
        "einsum('ij,jk->ik', ones(2, 3), ones(1, 4))", "einsum('ij,->ij', ones(2, 2), tensor(3.0))", "einsum('->', tensor(2.0))",
        "einsum('ii', ones(2, 3))", "einsum('ii', ones(1, 3))", "einsum('ij->ik', ones(2, 2))", "einsum('ij->ii', ones(2, 2))", "einsum('i', ones(2, 2))", "einsum('i.j', ones(2, 2))",
        "einsum('ij,jk', ones(2, 2))", "einsum('i1', ones(2, 2))", "einsum('ij,jk', ones(2, 3), ones(2, 3))", "einsum('ij->i->j', ones(2, 2))", "einsum('i,i->i', zeros(0), zeros(0))", "einsum('ij,jk->ik', ones(2, 0), ones(0, 2))",
    ]


def gradients():
    through = [
        ("det(x)", SQUARE), ("det(x)", "tensor([[1.0, 2.0], [2.0, 4.0]], dtype=f64)"), ("inv(x)", SQUARE),
        ("slogdet(x)[1]", SQUARE), ("logdet(x)", SYMMETRIC), ("cholesky(x)", SYMMETRIC), ("cholesky(x, upper=true)", SYMMETRIC),
        ("eigvalsh(x)", SYMMETRIC), ("eigh(x)[0]", SYMMETRIC), ("svdvals(x)", TALL), ("svd(x)[1]", TALL), ("pinv(x)", TALL),
        ("matrix_exp(x)", SQUARE), ("matrix_norm(x, 'nuc')", TALL), ("matrix_norm(x, 2)", TALL), ("matrix_norm(x)", TALL),
        ("matrix_norm(x, 1)", TALL), ("matrix_power(x, 3)", SQUARE), ("solve(x, ones(3, dtype=f64))", SQUARE),
        ("solve(ones(3, 3, dtype=f64) + eye(3), x)", SQUARE), ("qr(x)[1].abs()", TALL), ("qr(x)[0].abs()", TALL), ("qr(x, mode='r')[1]", TALL),
        ("qr(x, mode='complete')[1]", TALL), ("qr(x, mode='complete')[1].abs()", f"{TALL}.t().contiguous()"), ("svd(x, full_matrices=false)[0].abs()", TALL),
        ("svd(x, full_matrices=false)[2].abs()", TALL), ("lstsq(x, ones(3, dtype=f64))[0]", TALL), ("cond(x)", SQUARE), ("svdvals(x)", "eye(3, dtype=f64)"),
        ("einsum('ij,jk,kl->', x, x, x)", SQUARE), ("einsum('ii', x)", SQUARE), ("kron(x, x)", TALL), ("cross(x, x.flip(1))", SQUARE),
    ]
    for expression, x in through:
        yield f"x = {x}; x.requires_grad_(); y = {expression}; (y * (1.1 + arange(y.numel()).reshape(y.shape))).sum().backward(); x.grad"


def refusals():
    # Not a matrix of ones: the least of its singular values is rounding errors, others on each processor.
    for name in UNARY:
        for operand in ["tensor([[1, 2], [3, 4]])", "tensor([[true]])", "ones(2, 2, dtype=f16)", "ones(2, 2, dtype=bf16)", "ones(3)",
            "tensor(1.0)", "tensor([[1.0, 2.0, 2.0], [-4.0, 1.0, 1.0]])", "tensor([[nan, 1.0], [1.0, 2.0]])"]:
            if (name, operand) != ("qr", "tensor([[nan, 1.0], [1.0, 2.0]])"):
                yield f"{name}({operand})" if name not in ("qr", "svd", "eigh") else f"{name}({operand})[0].shape[0]"
    yield from [
        "inv(ones(2, 2))", "inv(zeros(2, 2))", "cholesky(-eye(2))", "cholesky(tensor([[1.0, 2.0], [2.0, 1.0]]))",
        "solve(ones(2, 2), ones(2))", "solve(ones(2, 2, dtype=f64), ones(2))", "qr(ones(2, 2), mode='full')", "eigvalsh(eye(2), 'X')",
        "matrix_norm(ones(2, 2), 'max')", "matrix_norm(ones(2, 2), 3)", "matrix_norm(ones(2, 2), dim=(0, 0))", "matrix_norm(ones(2, 2), dim=(0, 2))",
    ]


def matmuls():
    shapes = [("3", "3"), ("2, 3", "3"), ("3", "3, 2"), ("2, 3", "3, 4"), ("5, 2, 3", "3"), ("3", "5, 3, 2"), ("5, 2, 3", "3, 4"), ("2, 3", "5, 3, 4"), ("5, 2, 3", "5, 3, 4"),
        ("5, 1, 2, 3", "4, 3, 2"), ("2, 0", "0, 3"), ("0", "0"), ("0, 3", "3"), ("2, 3", "4, 2"), ("3", "4"), ("", "3"), ("2, 2, 3", "3, 3, 2"), ("1, 2, 3", "4, 3, 1")]
    for a, b in shapes:
        for name in ["matmul", "mm", "bmm", "mv", "dot", "outer"]:
            yield f"{name}((arange(ones({a}).numel()) + 1).reshape({a or '[]'}), (arange(ones({b}).numel()) - 1).reshape({b or '[]'}))"
    for name in ["matmul", "mm", "dot", "outer", "mv", "bmm"]:
        pair = {"dot": ("3", "3"), "outer": ("3", "2"), "mv": ("2, 3", "3"), "bmm": ("2, 2, 3", "2, 3, 2")}.get(name, ("2, 3", "3, 2"))
        for dtype in ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]:
            yield f"{name}(ones({pair[0]}, dtype={dtype}), ones({pair[1]}, dtype={dtype}))"
        yield f"{name}(ones({pair[0]}), ones({pair[1]}, dtype=f64))"
        yield f"{name}(ones({pair[0]}, dtype=i64), ones({pair[1]}))"
    for x in ["arange(9).reshape(3, 3)", "arange(6.0).reshape(2, 3)", "ones(3)", "ones(2, 2, 2)", "tensor([[true]])", "zeros(0, 0)", "ones(2, 2, dtype=u8)", "ones(2, 2, dtype=f16)", "zeros(0, 3)"]:
        yield f"trace({x})"
    for x, w, b in [("2, 3", "4, 3", "4"), ("3", "4, 3", "4"), ("2, 2, 3", "4, 3", "4"), ("2, 3", "3", None), ("2, 3", "4, 3", None), ("2, 3", "3, 4", None), ("2, 3", "4, 3", "3"), ("0, 3", "4, 3", "4"), ("2, 0", "4, 0", "4"), ("2, 3", "3", ""), ("2, 3", "2, 4, 3", None), ("2, 3", "4, 3", "1"), ("2, 3", "4, 3", "2, 4")]:
        bias = "" if b is None else f", ones({b})" if b else ", tensor(2.0)"
        yield f"linear(ones({x}), ones({w}){bias})"
    yield "linear(ones(2, 3), ones(4, 3, dtype=f64))"
    yield "linear(ones(2, 3, dtype=i64), ones(4, 3, dtype=i64), ones(4, dtype=i64))"
    yield "matmul(tensor([[300.0]], dtype=f16), tensor([[300.0]], dtype=f16))"
    yield "matmul(tensor([[127]], dtype=i8), tensor([[127]], dtype=i8))"
    yield "ones(2, 3) @ ones(3)"
    yield "tensor([1, 2]) @ tensor([[1], [2]])"
