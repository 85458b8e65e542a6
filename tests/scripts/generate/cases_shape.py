"""Expressions over the create, shape, view and random ops."""


def create():
    sizes = ["3", "2, 3", "[2, 3]", "(2, 3)", "0", "2, 0", "()", "-1"]
    for name in ["zeros", "ones"]:
        for size in sizes:
            yield f"{name}({size})"
        for dtype in ["bool", "u8", "i64", "f16", "bf16", "f64"]:
            yield f"{name}(2, dtype={dtype})"
    for name in ["zeros_like", "ones_like"]:
        yield f"{name}(tensor([1, 2], dtype=i8))"
        yield f"{name}(tensor([1, 2]), dtype=f16)"
        yield f"{name}(zeros(2, 0))"
        yield f"{name}(arange(6).reshape(2, 3).t())"
    for value in ["7", "7.5", "true", "nan"]:
        yield f"full([2], {value})"
        yield f"full([2], {value}, dtype=f64)"
        yield f"full_like(tensor([1, 2], dtype=i8), {value}, dtype=f32)"
        yield f"full_like(tensor([1.0, 2.0]), {value})"
        yield f"full([2], {value}, dtype=i64)"
        yield f"tensor([1]).new_full([1], {value})"
    for dtype, value in [("u8", 255), ("u8", 256), ("u8", 255.9), ("i8", -128), ("i8", -129), ("i8", 127.5),
        ("i16", 32768), ("i32", 2147483647), ("i32", 2147483648), ("f16", 65504), ("f16", 1e10), ("bf16", 1e38),
        ("f32", 1e39), ("f32", "inf"), ("i32", "inf"), ("bool", 5), ("u8", "true"), ("i64", 1e18), ("i64", 1e19)]:
        yield f"full([1], {value}, dtype={dtype})"
        yield f"zeros(1, dtype={dtype}).fill_({value})"
        yield f"masked_fill(zeros(1, dtype={dtype}), tensor([true]), {value})"
        yield f"x = zeros(1, dtype={dtype}); x[0] = {value}; x"
        yield f"scatter(zeros(1, dtype={dtype}), 0, tensor([0]), {value})"
        yield f"pad(zeros(1, dtype={dtype}), (1, 0), value={value})"
        yield f"x = zeros(1, dtype={dtype}); x[[0]] = {value}; x"
    for a in ["5", "0", "5.0", "2.5", "1, 5", "1, 5, 2", "5, 1, -1", "5, 0, -2", "0, 1, 0.25", "1.0, 2.0, 0.3",
        "0.5, 3", "1, 1", "3, 1", "1, 3, -1", "1, 3, 0", "-3", "0, 0.9, 0.3", "0, inf", "nan, 1", "1, 10, 3.5",
        "2, -2, -1.5"]:
        yield f"arange({a})"
    for dtype in ["u8", "i8", "i32", "f16", "bf16", "f32", "f64", "bool"]:
        yield f"arange(3, dtype={dtype})"
        yield f"arange(0, 2, 0.5, dtype={dtype})"
        yield f"arange(1.5, 4.5, dtype={dtype})"
        yield f"linspace(0, 10, 5, dtype={dtype})"
        yield f"linspace(-2.5, 3.5, 4, dtype={dtype})"
    for a in ["0, 1, 3", "0, 1, 1", "0, 1, 0", "1, 0, 4", "0, 1, -1", "-5, 5, 11", "0.0, 1.0, 7", "3, 3, 2",
        "0, 1, steps=2", "nan, 1, 2", "-1, 1, 6"]:
        yield f"linspace({a})"
    for a in ["3", "2, 3", "3, 2", "0", "0, 2", "2, dtype=i64", "2, dtype=bool", "-1", "1, 3, dtype=f16"]:
        yield f"eye({a})"
    for name in ["tril", "triu"]:
        for d in ["", ", 1", ", -1", ", diagonal=2", ", diagonal=-5", ", 5"]:
            yield f"{name}(arange(12).reshape(3, 4){d})"
        yield from [f"{name}(arange(8).reshape(2, 2, 2))", f"{name}(arange(3))", f"{name}(tensor(1))",
            f"{name}(zeros(0, 3))", f"{name}(ones(2, 2, dtype=bool))", f"{name}(ones(3, 2, dtype=f16), 1)",
            f"{name}(arange(6).reshape(2, 3).t())", f"arange(4.0).reshape(2, 2).{name}_()",
            f"{name}(tensor([[nan, inf], [nan, inf]]))"]
    yield from ["one_hot(tensor([0, 2, 1]))", "one_hot(tensor([0, 2, 1]), 4)", "one_hot(tensor([0, 2, 1]), 2)",
        "one_hot(tensor([[0, 1], [1, 0]]))", "one_hot(tensor([-1, 0]))", "one_hot(tensor(1), 3)",
        "one_hot(tensor([0.0]))", "one_hot(tensor([0], dtype=i32))", "one_hot(zeros(0, dtype=i64))",
        "one_hot(zeros(0, dtype=i64), 3)", "one_hot(tensor([1]), num_classes=0)",
        "one_hot(zeros(2, 0, dtype=i64), 3)",
                "meshgrid(tensor([1, 2]), tensor([3, 4, 5]), indexing=\"ij\")",
                "meshgrid(tensor([1, 2]), tensor([3, 4, 5]), indexing=\"xy\")",
                "meshgrid([tensor([1, 2]), tensor([3])], indexing=\"ij\")",
                "meshgrid(tensor([1, 2]), tensor(3), indexing=\"ij\")", "meshgrid(tensor([1, 2]), indexing=\"ij\")",
                "meshgrid(tensor([1]), tensor([2]), tensor([3, 4]), indexing=\"xy\")",
                "meshgrid(tensor([1]), tensor([[2]]), indexing=\"ij\")",
                "meshgrid(tensor([1, 2]), tensor([3.0]), indexing=\"ij\")",
                "meshgrid(tensor([1, 2]), tensor([3]), indexing=\"yx\")",
                "tensor([[1, 2], [3]])", "tensor([1, 2.5])", "tensor([true, 2])", "tensor([true, false])",
                "tensor([[]])", "tensor([[], []])", "tensor([1.5, 2.5], dtype=i64)", "tensor([1, 0, 2], dtype=bool)",
                "tensor([nan], dtype=f16)", "tensor(3)", "tensor(2.5)", "tensor(true)", "tensor([300], dtype=u8)",
                "tensor([-1], dtype=u8)", "tensor([[1, 2], [3, 4]], dtype=f64)", "tensor([1e400])",
                "tensor([3000000000])", "tensor([3000000000], dtype=i32)", "tensor([1e-50])",
                "tensor([[1.0, 2.0], [3, true]])",
                "tensor([1]).new_zeros(2, 2)", "tensor([1.0], dtype=f16).new_ones(2)", "tensor([1]).new_full([2], 3)",
                "tensor([1.0]).new_full([2], 3)", "tensor([1]).new_zeros(2, dtype=f32)", "tensor([1]).new_zeros([])",
                "empty(2, 3).shape", "empty(0).shape", "empty(2, dtype=i8).dtype", "tensor([1]).new_empty(3).shape",
                "rand(2, 3).shape", "rand(0).shape", "rand([2, 3]).dtype", "rand(2, dtype=f64).dtype",
                "rand(2, dtype=i64)", "randn(3).dtype", "randn(2, dtype=i32)", "randn(()).shape",
                "randint(5, [2, 3]).shape", "randint(5, [2]).dtype", "randint(1, 5, [2], dtype=f32).dtype",
                "randint(5, 5, [2])", "randint(5, 1, [2])", "randint(0, [2])", "randint(3, 4, [3])",
                "randint(0, 300, [2], dtype=u8)", "randint(-300, 3, [2], dtype=i8)",
                "randint(0, 2, [2], dtype=bool).dtype", "randperm(5).shape", "randperm(0)", "randperm(-1)",
                "randperm(3, dtype=i32).dtype", "randperm(3, dtype=f32).dtype", "sort(randperm(5))[0]",
                "bernoulli(tensor([0.0, 1.0]))", "bernoulli(tensor([0.5, 1.5]))", "bernoulli(tensor([0, 1]))",
                "bernoulli(zeros(3), 1.0)", "bernoulli(zeros(3), p=0.0)", "bernoulli(zeros(3), 2.0)",
                "bernoulli(tensor([nan]))", "zeros(3).bernoulli_(1.0)", "zeros(3, dtype=i64).bernoulli_(1.0)",
                "multinomial(tensor([0.0, 1.0]), 1)", "multinomial(tensor([0.0, 1.0]), 2)",
                "multinomial(tensor([0.0, 1.0]), 3, true)", "multinomial(tensor([[0.0, 1.0], [1.0, 0.0]]), 1)",
                "multinomial(tensor([0.0, 0.0]), 1)", "multinomial(tensor([-1.0, 1.0]), 1)",
                "multinomial(tensor([1, 2]), 1)", "multinomial(tensor([nan, 1.0]), 1)",
                "multinomial(tensor([1.0, 2.0]), 0)", "multinomial(zeros(2, 2, 2), 1)",
                "rand_like(tensor([1.0, 2.0])).shape", "rand_like(tensor([1, 2]))",
                "rand_like(tensor([1, 2]), dtype=f16).dtype", "randn_like(zeros(2, 0)).shape",
                "zeros(3).uniform_(2, 2)", "zeros(3).uniform_(2, 1)", "zeros(3, dtype=i64).uniform_()",
                "zeros(3).normal_(5, 0)", "zeros(3).normal_(0, -1)", "zeros(3, dtype=i64).normal_()",
                "dropout(ones(3), 0.0)", "dropout(ones(3), 1.0)", "dropout(ones(3), 0.5, training=false)",
                "dropout(ones(3), 1.5)", "dropout(tensor([1, 2]), 0.0)"]


def views():
    x = "arange(24).reshape(2, 3, 4)"
    yield from [
        f"{x}.view(6, 4)", f"{x}.view(-1)", f"{x}.view(2, -1)", f"{x}.view(5, 5)", f"{x}.view(-1, -1)",
        f"{x}.view(-1, 5)", f"{x}.transpose(0, 1).view(-1)", f"{x}.transpose(0, 1).reshape(-1)",
        f"{x}.reshape(4, -1, 2)", "arange(0).reshape(-1)", "arange(0).reshape(0, -1)", "arange(0).reshape(2, -1)",
        "arange(0).reshape(0, 5)", "zeros(2, 0).reshape(0)", "tensor(1).reshape(1, 1)", "tensor([1]).reshape(())",
        "tensor([1]).view([])", "arange(6).reshape(3, 2).t().view(6)", "arange(6).view(-2, 3)",
        "arange(6).reshape([2, 3])", "tensor([1, 2, 3, 4], dtype=i8).reshape(2, 2).t()",
        f"flatten({x})", f"flatten({x}, 1)", f"flatten({x}, 0, 1)", f"flatten({x}, start_dim=-2)",
        f"flatten({x}, 2, 1)", "flatten(tensor(3))", "flatten(zeros(2, 0))", f"flatten({x}, 0, 3)",
        "arange(6).unflatten(0, (2, 3))", "arange(6).unflatten(0, (2, -1))", "arange(6).unflatten(0, (4, -1))",
        "arange(6).unflatten(0, (2, 2))", f"{x}.unflatten(-1, (2, 2))", "arange(6).unflatten(0, ())",
        f"permute({x}, (2, 0, 1))", f"{x}.permute(2, 0, 1)", f"{x}.permute(-1, 0, 1)", f"{x}.permute(0, 1)",
        f"{x}.permute(0, 0, 1)", f"{x}.permute(0, 1, 3)", "tensor(1).permute(())", f"transpose({x}, 0, 2)",
        f"transpose({x}, -1, -2)", f"transpose({x}, 0, 3)", "transpose(tensor(1), 0, 0)",
        "transpose(tensor(1), 0, -1)", "t(arange(6).reshape(2, 3))", "t(arange(3))", "t(tensor(3))", f"t({x})",
        f"movedim({x}, 0, 2)", f"movedim({x}, 0, -1)", f"movedim({x}, (0, 1), (2, 0))",
        f"movedim({x}, (0, 0), (1, 2))", f"movedim({x}, (0, 1), (2,))", f"movedim({x}, 3, 0)",
        f"movedim({x}, (0, 1), (1, 1))",
        "tensor([1, 2]).expand(3, 2)", "tensor([1, 2]).expand(3, -1)", "tensor([1, 2]).expand(-1, 2)",
        "tensor([[1], [2]]).expand(2, 3)", "tensor([[1], [2]]).expand(-1, 3)", "tensor([1, 2]).expand(3)",
        "tensor([1, 2]).expand(2, 3)", "tensor(1).expand(2, 2)", "tensor([1]).expand(0)",
        "tensor([[1, 2]]).expand(1)", "tensor([1]).expand(-2)", "zeros(0).expand(2, 0)",
        "broadcast_to(tensor([1, 2]), (3, 2))", "broadcast_to(tensor([1, 2]), (3,))",
        "tensor([1]).expand_as(zeros(2, 2))", "tensor([1, 2]).view_as(zeros(2, 1))",
        "squeeze(zeros(1, 2, 1))", "squeeze(zeros(1, 2, 1), 0)", "squeeze(zeros(1, 2, 1), 1)",
        "squeeze(zeros(1, 2, 1), (0, 2))", "squeeze(zeros(1, 2, 1), -1)", "squeeze(zeros(1, 2, 1), 3)",
        "squeeze(tensor(1))", "squeeze(tensor(1), 0)", "squeeze(zeros(1, 2, 1), (0, 1))",
        "squeeze(zeros(1, 2, 1), (0, 0))", "unsqueeze(tensor([1, 2]), 0)", "unsqueeze(tensor([1, 2]), -1)",
        "unsqueeze(tensor([1, 2]), 2)", "unsqueeze(tensor([1, 2]), 3)", "unsqueeze(tensor(1), 0)",
        "unsqueeze(tensor([1]), -3)",
        f"narrow({x}, 1, 1, 2)", f"narrow({x}, 2, 0, 0)", f"narrow({x}, 1, 2, 2)", f"narrow({x}, -1, -2, 2)",
        f"narrow({x}, 1, 4, 0)", f"narrow({x}, 1, 3, 0)", f"narrow({x}, 0, 0, -1)", f"select({x}, 0, 1)",
        f"select({x}, 1, -1)", f"select({x}, 1, 3)", f"select({x}, -1, 0)", "select(tensor(1), 0, 0)",
        f"select({x}, 3, 0)",
        f"{x}[0]", f"{x}[-1, 1]", f"{x}[:, 1]", f"{x}[..., 1]", f"{x}[..., 1:3]", f"{x}[:, ::2, 1::2]",
        f"{x}[none, 0].shape", f"{x}[0, none, :, none].shape", f"{x}[5:]", f"{x}[1:0]", f"{x}[-1:]", f"{x}[:, -2:-1]",
        f"{x}[:, :100]", f"{x}[2]", f"{x}[0, 0, 0]", f"{x}[0, 0, 0, 0]", f"{x}[...].shape", f"{x}[..., ...]",
        f"{x}[::3]", "arange(5)[::-1]" , "arange(5)[::0]", "tensor(3)[...]", "tensor(3)[0]", "tensor(3)[none]",
        "arange(10)[2:8:3]", "arange(10)[-100:3]", "arange(3)[true]", "arange(3)[false]", "arange(5)[3:1]",
        "diagonal(arange(9).reshape(3, 3))", "diagonal(arange(12).reshape(3, 4), 1)",
        "diagonal(arange(12).reshape(3, 4), -2)", "diagonal(arange(12).reshape(3, 4), 4)",
        "diagonal(arange(12).reshape(3, 4), 7)", f"diagonal({x}, 0, 1, 2)",
        f"diagonal({x}, offset=1, dim1=-1, dim2=0)", f"diagonal({x}, 0, 1, 1)", "diagonal(arange(3))",
        f"diagonal({x}, 0, 0, 3)",
        "split(arange(7), 3)", "split(arange(6), 3)", "split(arange(7), [2, 5])", "split(arange(7), [2, 4])",
        "split(arange(7), 0)", "split(arange(0), 0)", "split(arange(0), 3)", "split(arange(7), 100)",
        "split(arange(7), -1)", "split(arange(8).reshape(2, 4), 3, dim=1)",
        "split(arange(8).reshape(2, 4), (1, 3), -1)", "split(arange(7), [7, 0])", "split(arange(7), [-1, 8])",
        "split(tensor(1), 1)",
        "chunk(arange(7), 3)", "chunk(arange(6), 4)", "chunk(arange(5), 4)", "chunk(arange(3), 5)",
        "chunk(arange(3), 0)", "chunk(arange(0), 3)", "chunk(arange(8).reshape(2, 4), 2, dim=1)",
        "chunk(arange(8).reshape(2, 4), 2, -1)", "chunk(tensor(1), 1)", "unbind(arange(6).reshape(2, 3))",
        "unbind(arange(6).reshape(2, 3), 1)", "unbind(arange(6).reshape(2, 3), dim=-1)", "unbind(tensor(1))",
        "unbind(zeros(0, 2))", "unbind(zeros(2, 0))",
        "as_strided(arange(10), (2, 3), (3, 1))", "as_strided(arange(10), (2, 3), (1, 1), 2)",
        "as_strided(arange(10), (3, 3), (4, 1))", "as_strided(arange(10), (2,), (-1,))",
        "as_strided(arange(10), (2, 2), (1,))", "as_strided(arange(10), (0, 5), (100, 1))",
        "as_strided(arange(10), (), ())", "as_strided(arange(10), (2,), (0,))",
        "as_strided(arange(10)[5:], (2,), (1,))", "as_strided(arange(10)[5:], (2,), (1,), 0)",
        "as_strided(arange(10), (2,), (1,), -1)", "as_strided(arange(10), (2,), (1,), 9)",
        "arange(7).unfold(0, 3, 2)", "arange(7).unfold(0, 3, 1)", "arange(7).unfold(0, 8, 1)",
        "arange(7).unfold(0, 3, 0)", "arange(7).unfold(0, 0, 1)", f"{x}.unfold(1, 2, 1).shape",
        f"{x}.unfold(-1, 2, 2)", "tensor(5).unfold(0, 1, 1)", "arange(7).unfold(0, -1, 1)",
        "arange(7).unfold(1, 2, 1)",
        "x = arange(4); x.unsqueeze_(0); x", "x = arange(4).reshape(2, 2); x.t_(); x",
        "x = arange(6).reshape(2, 3); x.transpose_(0, 1); x", "x = zeros(1, 2); x.squeeze_(); x",
        "x = zeros(1, 2); x.squeeze_(0); x", "x = arange(6); x.resize_(2, 2); x", "x = arange(2); x.resize_(4).shape",
        "detach(tensor([1.0]))",
        "contiguous(arange(6).reshape(2, 3).t())", "contiguous(arange(6).reshape(2, 3).t()).stride()",
        "arange(6).reshape(2, 3).t().stride()", "clone(arange(6).reshape(2, 3).t())", "clone(tensor([1]).expand(3))",
        "arange(6).reshape(2, 3).t().is_contiguous()", "zeros(2, 0).t().is_contiguous()",
        "zeros(3, 1).t().is_contiguous()",
    ]
    for a in ["bool", "u8", "i8", "i32", "i64", "f16", "bf16", "f64"]:
        yield f"tensor([1.9, -1.9, 0.0, 100.5]).to({a})"
        yield f"tensor([1, 0, 127, 255]).to({a})"
        yield f"tensor([true, false]).to({a})"
    yield from ["tensor([1]).to(f32).to(i8)", "tensor([1.5]).to(\"cpu\")", "tensor([1.5]).to(\"cpu\", f16)",
        "tensor([1.5]).to(dtype=f64, copy=true)", "x = tensor([1.5]); x.to(f32) is x",
        "x = tensor([1.5]); x.to(f32, copy=true) is x", "tensor([1e10]).to(f16)", "tensor([0.1], dtype=f64).to(f32)",
        "tensor([1e-10]).to(f16)", "tensor([16777217]).to(f32)", "tensor([9007199254740993]).to(f64)",
        "tensor([65519.0, 65520.0]).to(f16)", "tensor([1.00390625, 1.01171875]).to(bf16)", "tensor([300, -1]).to(u8)",
        "tensor([70000]).to(i16)", "tensor([nan]).to(bool)", "tensor([0.1]).to(bool)"]


def joins():
    yield from [
        "cat([tensor([1, 2]), tensor([3])])", "cat((tensor([1, 2]), tensor([3.5])))",
        "cat([tensor([1], dtype=i8), tensor([2], dtype=u8)])", "cat([tensor([true]), tensor([2])])",
        "cat([tensor([1.0], dtype=f16), tensor([2.0], dtype=bf16)])", "cat([zeros(0), tensor([1, 2])])",
        "cat([tensor([1, 2]), zeros(0)])", "cat([zeros(0), zeros(2, 3)])", "cat([zeros(0, 3), zeros(2, 3)])",
        "cat([zeros(2, 0), zeros(2, 3)], 1)", "cat([zeros(2, 0), zeros(2, 3)], 0)", "cat([])",
        "cat([tensor(1), tensor(2)])", "cat([tensor([1]), tensor(2)])", "cat([zeros(2, 3), zeros(2, 2)], dim=1)",
        "cat([zeros(2, 3), zeros(2, 2)], dim=0)", "cat([zeros(2, 3), zeros(2, 3)], dim=-1)",
        "cat([zeros(2, 3), zeros(2, 3)], dim=2)", "cat([zeros(2, 3), zeros(3)], dim=0)",
        "cat([arange(6).reshape(2, 3), arange(6).reshape(3, 2).t()], 1)", "cat([arange(4)[::2], arange(4)[1::2]])",
        "cat([tensor([1])])", "cat([tensor([1, 2]).expand(2, 2), zeros(1, 2, dtype=i64)])",
        "cat([zeros(0), zeros(0)])", "cat([zeros(0, dtype=i64), zeros(0)]).dtype", "cat([tensor([1]), 2])",
        "stack([tensor([1, 2]), tensor([3, 4])])", "stack([tensor([1, 2]), tensor([3, 4])], 1)",
        "stack([tensor([1, 2]), tensor([3, 4])], dim=-1)", "stack([tensor([1, 2]), tensor([3, 4])], dim=2)",
        "stack([tensor([1, 2]), tensor([3.5, 4.5])])", "stack([tensor(1), tensor(2)])",
        "stack([tensor([1]), tensor([1, 2])])", "stack([])", "stack([zeros(0), zeros(0)])",
        "stack([tensor([1, 2]), tensor([3, 4])], -3)",
        "stack([arange(6).reshape(2, 3).t(), zeros(3, 2, dtype=i64)], 1)",
        "tensor([1, 2]).repeat(2)", "tensor([1, 2]).repeat(2, 2)", "tensor([[1, 2]]).repeat(2)",
        "tensor([1, 2]).repeat(0)", "tensor([1, 2]).repeat(-1)", "tensor(1).repeat(3)",
        "tensor([1, 2]).repeat(2, 1, 2)", "tensor([[1, 2], [3, 4]]).t().repeat(1, 2)", "tile(tensor([1, 2]), (2,))",
        "tile(tensor([1, 2]), (2, 2))", "tile(tensor([[1, 2], [3, 4]]), (2,))", "tile(tensor(1), (2, 2))",
        "tile(tensor([[1, 2]]), ())", "tile(tensor([1]), (0,))",
        "repeat_interleave(tensor([1, 2]), 2)", "repeat_interleave(tensor([[1, 2], [3, 4]]), 2)",
        "repeat_interleave(tensor([[1, 2], [3, 4]]), 2, dim=0)",
        "repeat_interleave(tensor([[1, 2], [3, 4]]), 2, dim=-1)", "repeat_interleave(tensor([1, 2]), tensor([1, 3]))",
        "repeat_interleave(tensor([[1, 2], [3, 4]]), tensor([0, 2]), dim=0)",
        "repeat_interleave(tensor([[1, 2], [3, 4]]), tensor([2, 1]), dim=1)",
        "repeat_interleave(tensor([1, 2]), tensor([3]))", "repeat_interleave(tensor([1, 2]), tensor(3))",
        "repeat_interleave(tensor([1, 2]), tensor([1, 2, 3]))", "repeat_interleave(tensor([1, 2]), -1)",
        "repeat_interleave(tensor([1, 2]), tensor([1, -1]))", "repeat_interleave(tensor([1, 2]), 0)",
        "repeat_interleave(tensor(5), 3)", "repeat_interleave(tensor([1, 2]), tensor([1.0, 2.0]))",
        "repeat_interleave(tensor([1, 2, 3]), tensor([0, 1, 2]))", "repeat_interleave(tensor([2, 3]))",
        "repeat_interleave(tensor([1, 2]), 2, dim=1)", "repeat_interleave(tensor([1, 2]), tensor([1, 2], dtype=i32))",
        "flip(arange(4), 0)" if False else "flip(arange(4), (0,))", "flip(arange(6).reshape(2, 3), (0, 1))",
        "flip(arange(6).reshape(2, 3), (-1,))", "flip(arange(6).reshape(2, 3), ())",
        "flip(arange(6).reshape(2, 3), (0, 0))", "flip(arange(6).reshape(2, 3), (2,))", "flip(zeros(0), (0,))",
        "flip(tensor(1), (0,))", "flip(tensor(1), ())", "arange(6).reshape(2, 3).flip(0, 1)",
        "arange(6).reshape(2, 3).t().flip(1)",
        "roll(arange(5), 2)", "roll(arange(5), -1)", "roll(arange(5), 7)", "roll(arange(6).reshape(2, 3), 1)",
        "roll(arange(6).reshape(2, 3), 1, 0)", "roll(arange(6).reshape(2, 3), (1, 2), (0, 1))",
        "roll(arange(6).reshape(2, 3), (1, 2), (1, 1))", "roll(arange(6).reshape(2, 3), (1, 2), 0)",
        "roll(arange(6).reshape(2, 3), 1, 2)", "roll(zeros(0), 1)",
        "roll(arange(6).reshape(2, 3), shifts=-1, dims=-1)", "roll(tensor(1), 1)",
        "roll(arange(6).reshape(2, 3), (1, 2))",
        "diag(tensor([1, 2]))", "diag(tensor([1, 2]), 1)", "diag(tensor([1, 2]), -1)",
        "diag(arange(6).reshape(2, 3))", "diag(arange(6).reshape(2, 3), 1)", "diag(arange(6).reshape(2, 3), -1)",
        "diag(arange(6).reshape(2, 3), 5)", "diag(tensor(1))", "diag(zeros(2, 2, 2))", "diag(zeros(0))",
        "diag_embed(tensor([1, 2]))", "diag_embed(tensor([[1, 2], [3, 4]]))", "diag_embed(tensor([1, 2]), 1)",
        "diag_embed(tensor([1, 2]), -1)", "diag_embed(tensor([[1, 2], [3, 4]]), 0, 0, 2)",
        "diag_embed(tensor([1, 2]), 0, 1, 0)", "diag_embed(tensor([1, 2]), 0, 0, 0)", "diag_embed(tensor(1))",
        "diag_embed(tensor([1, 2]), dim1=0, dim2=-1)",
    ]
    pads = [("constant", "(1, 2)"), ("constant", "(-1, 1)"), ("reflect", "(1, 1)"), ("replicate", "(1, 2)"),
        ("circular", "(1, 2)"), ("reflect", "(3, 0)"), ("reflect", "(2, 2)"), ("circular", "(4, 0)"),
        ("circular", "(3, 3)")]
    for mode, p in pads:
        yield f"pad(arange(3.0).reshape(1, 3), {p}, mode=\"{mode}\")"
        yield f"pad(arange(6.0).reshape(1, 2, 3), {p}, mode=\"{mode}\")"
    for mode in ["reflect", "replicate", "circular", "constant"]:
        yield f"pad(arange(12.0).reshape(1, 1, 3, 4), (1, 1, 2, 1), mode=\"{mode}\")"
        yield f"pad(arange(12.0).reshape(1, 3, 4), (1, 0, 0, 2), mode=\"{mode}\")"
        yield f"pad(arange(16.0).reshape(1, 1, 2, 2, 4), (1, 1, 1, 0, 0, 1), mode=\"{mode}\")"
        yield f"pad(arange(3.0), (1, 1), mode=\"{mode}\")"
        yield f"pad(arange(3).reshape(1, 3), (1, 1), mode=\"{mode}\")"
        yield f"pad(arange(3.0).reshape(1, 3), (0, 0), mode=\"{mode}\")"
        yield f"pad(arange(6.0).reshape(1, 2, 3), (1, 1, 1, 1, 1, 1), mode=\"{mode}\")"
        yield f"pad(zeros(1, 2, 0), (1, 1), mode=\"{mode}\")"
        yield f"pad(arange(4.0).reshape(1, 4), (-1, -1), mode=\"{mode}\")"
    yield from ["pad(arange(3), (1, 1), value=7)", "pad(arange(3.0), (1, 1), value=nan)",
        "pad(arange(4).reshape(2, 2), (1, 0, 0, 1), value=-1)", "pad(arange(3), (1,))",
        "pad(arange(3), (1, 1, 1, 1))", "pad(arange(3), (-2, -2))", "pad(arange(3), (-2, -1))",
        "pad(arange(3), (1, 1), mode=\"mirror\")", "pad(arange(3), (1, 1), value=1.5)", "pad(tensor([true]), (1, 1))",
        "pad(tensor([true]), (1, 1), value=1)", "pad(arange(6).reshape(2, 3).t(), (1, 0))",
        "pad(tensor([1], dtype=u8), (1, 1), value=300)", "pad(arange(3.0), (0, 0))", "pad(arange(3.0), ())",
        "pad(zeros(0), (1, 1))", "pad(arange(3.0).reshape(1, 3), (1, 1), mode=\"reflect\", value=2)"]
    yield from [
        "slice_scatter(zeros(4), ones(2), 0, 1, 3)", "slice_scatter(zeros(4), ones(2), start=0, end=4, step=2)",
        "slice_scatter(zeros(4), ones(3), 0, 1, 3)", "slice_scatter(zeros(2, 4), ones(2, 2), dim=1, start=-2)",
        "slice_scatter(zeros(4, dtype=i64), tensor([1.5, 2.5]), 0, 0, 2)", "slice_scatter(zeros(4), ones(4))",
        "slice_scatter(zeros(4), zeros(0), 0, 2, 2)", "slice_scatter(zeros(4), ones(2), 1)",
        "select_scatter(zeros(2, 3), ones(3), 0, 1)", "select_scatter(zeros(2, 3), ones(2), 1, -1)",
        "select_scatter(zeros(2, 3), ones(3), 1, 0)", "select_scatter(zeros(2, 3), ones(3), 0, 2)",
        "select_scatter(zeros(2, 3, dtype=i64), ones(3), 0, 0)",
        "diagonal_scatter(zeros(3, 3), ones(3))", "diagonal_scatter(zeros(3, 3), ones(2), 1)",
        "diagonal_scatter(zeros(3, 3), ones(2), -1)", "diagonal_scatter(zeros(3, 3), ones(3), 1)",
        "diagonal_scatter(zeros(2, 3, 3), ones(2, 3), 0, 1, 2)", "as_strided_scatter(zeros(6), ones(2), (2,), (3,))",
        "as_strided_scatter(zeros(6), ones(2, 2), (2, 2), (2, 1), 1)",
        "as_strided_scatter(zeros(6), ones(3), (2,), (3,))",
        "allclose(tensor([1.0]), tensor([1.0 + 1e-9]))", "allclose(tensor([1.0]), tensor([1.1]))",
        "allclose(tensor([nan]), tensor([nan]))", "allclose(tensor([nan]), tensor([nan]), equal_nan=true)",
        "allclose(tensor([inf]), tensor([inf]))", "allclose(tensor([inf]), tensor([-inf]))",
        "allclose(tensor([1.0]), tensor([1.05]), rtol=0.1)", "allclose(tensor([1.0]), tensor([1.05]), atol=0.1)",
        "allclose(tensor([1, 2]), tensor([1, 2]))", "allclose(tensor([1.0]), tensor([1], dtype=i64))",
        "allclose(tensor([1.0]), tensor([1.0, 1.0]))", "allclose(tensor([1.0]), tensor([1.0], dtype=f64))",
        "allclose(zeros(0), zeros(0))",
        "equal(tensor([1, 2]), tensor([1, 2]))", "equal(tensor([1, 2]), tensor([1, 3]))",
        "equal(tensor([1, 2]), tensor([[1, 2]]))", "equal(tensor([nan]), tensor([nan]))",
        "equal(tensor([1]), tensor([1.0]))", "equal(zeros(0), zeros(0))", "equal(zeros(0), zeros(0, 2))",
        "equal(tensor([0.0]), tensor([-0.0]))", "x = tensor([nan]); equal(x, x)",
        "equal(arange(4).reshape(2, 2).t(), tensor([[0, 2], [1, 3]]))",
        "isclose(tensor([1.0, nan, inf]), tensor([1.0, nan, inf]))",
        "isclose(tensor([1.0, nan]), tensor([1.1, nan]), rtol=0.2, equal_nan=true)",
        "isclose(tensor([1, 5]), tensor([1, 6]))",
    ]


def cases():
    yield from create()
    yield from views()
    yield from joins()
