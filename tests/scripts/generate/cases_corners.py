"""Expressions over several dtypes at once, numbers that do not fit, empty and 0-d tensors: what is easily forgotten."""


def dtypes():
    """Functions composed of ops convert to the dtype of all operands first."""
    a, b = "tensor([3.0, 0.5, 0.0])", "tensor([7.0, 2.0, 0.25], dtype={})"
    for dtype in ["f16", "bf16", "f64"]:
        for name in ["xlogy", "logaddexp", "logaddexp2", "ldexp", "fmax"]:
            yield f"{name}({a}, {b.format(dtype)}).dtype"
        for name in ["xlogy", "xlog1py", "ldexp"]:
            yield f"{name}(tensor([3.0, 0.5], dtype=f64), {b.format(dtype)}[:2])"
            yield f"{name}(tensor([3.0, 0.5], dtype={dtype}), tensor([7, 2]))"
            yield f"{name}({b.format(dtype)}, tensor(2.0, dtype=f64))"
        yield f"xlogy(tensor([3.0], dtype={dtype}), 2)"
        yield f"xlogy(2, tensor([3.0], dtype={dtype}))"
        yield f"mvlgamma(tensor([7.5], dtype={dtype}), 2)"
        yield f"logaddexp2(tensor([0.0, 3.0], dtype={dtype}), tensor([0.0, 2.5], dtype={dtype}))"
        yield f"logaddexp(tensor([3.0, -2.0], dtype={dtype}), tensor([2.875, 0.5], dtype={dtype}))"
        yield f"rms_norm(tensor([[0.125, 0.125]], dtype={dtype}), [2])"
    yield "ldexp(tensor([1.0], dtype=f64), tensor([200]))"
    for value in ["1", "7", "-3"]:
        for x, t1, t2 in [("[0.5], dtype=f64", "[200], dtype=u8", "[1.0]"), ("[true]", "[-2], dtype=i8", "[-7], dtype=i16"),
                          ("[1.0]", "[3.0], dtype=bf16", "[127], dtype=i8"), ("[1.0], dtype=f16", "[3]", "[2.0], dtype=f16"),
                          ("[1]", "[3], dtype=i32", "[2]")]:
            yield f"addcmul(tensor({x}), tensor({t1}), tensor({t2}), value={value})"
            if "true" not in x and "[1]" not in x:
                yield f"addcdiv(tensor({x}), tensor({t1}), tensor({t2}), value={value})"
    yield "addcmul(tensor([1.0], dtype=f16), tensor([3]), tensor([2.0], dtype=f16), value=0.5)"
    for arguments in ["tensor([0.5]), alpha=2", "0.5, alpha=-1", "tensor([3], dtype=i8), alpha=3", "tensor([2])", "7"]:
        yield f"rsub(tensor([200], dtype=u8), {arguments})"
    yield "rsub(tensor([1]), tensor([5]), alpha=0.5)"
    for y in ["[20, 10, 5], dtype=u8", "[1, 2, 4], dtype=i64", "[1.5, 2.0, 4.0], dtype=f16"]:
        yield f"trapezoid(tensor({y}))"
        yield f"cumulative_trapezoid(tensor({y}), dx=1)"
    yield "hardtanh(tensor([3, 1, 0], dtype=u8))"
    yield "hardtanh(tensor([3, -1, 0], dtype=i8), -2, 2)"
    yield "addr(tensor([1.0]), tensor([1]), tensor([1]))"
    yield "cosine_similarity(tensor([1, 2]), tensor([0.3, 0.7]), dim=0)"
    yield "logit(tensor([true, false]))"
    for mode in ["bilinear", "bicubic"]:
        yield f"interpolate(tensor([3, 1, 0, 2], dtype=i64).reshape(1, 1, 2, 2), size=(3, 3), mode=\"{mode}\")"
    yield "interpolate(tensor([3, 1, 0, 2], dtype=u8).reshape(1, 1, 2, 2), size=(3, 3), mode=\"bilinear\")"


def numbers():
    """Numbers beyond the dtype of integers are refused where they would wrap."""
    for x, number in [("[5, 7], dtype=u8", 300), ("[5, 7], dtype=u8", -3), ("[3, -7], dtype=i8", 1000), ("[3, -7], dtype=i8", -1000)]:
        yield f"clamp(tensor({x}), min={number})"
        yield f"clamp(tensor({x}), max={number})"
        yield f"clamp(tensor({x}), {min(number, 0)}, {max(number, 1)})"
        yield f"where(tensor([false, true]), tensor({x}), {number})"
        yield f"where(tensor([false, true]), {number}, tensor({x}))"
        yield f"masked_fill(tensor({x}), tensor([false, true]), {number})"
        yield f"x = tensor({x}); x.clamp_(min={number}); x"
    for x in ["[5, 7], dtype=u8", "[3, -7], dtype=i8"]:
        yield f"clamp(tensor({x}), 1, 6)"
        yield f"tensor({x}) // 2"
        yield f"tensor({x}) % 3"
        yield f"tensor({x}) + 300"
        yield f"tensor({x}) * -1"


def edges():
    """Empty and 0-d tensors, dimensions that are not there, infinite elements."""
    for dim in ["7", "-2", "(0, 1)", "0", "-1"]:
        yield f"tensor(1).squeeze({dim})"
        if "(" not in dim:
            yield f"logcumsumexp(tensor(2.0), {dim})"
    for name in ["var", "std"]:
        for correction in [-1, 0, 1]:
            yield f"{name}(zeros(0), correction={correction})"
            yield f"{name}(zeros(2, 0), dim=1, correction={correction})"
            yield f"{name}(ones(2, 1), dim=1, correction={correction})"
    for q in ["zeros(0)", "tensor([0.5])", "0.25"]:
        yield f"quantile(tensor([1.0, 2.0]), {q})"
        yield f"quantile(tensor([[1.0, 2.0]]), {q}, dim=1)"
        yield f"nanquantile(tensor([[1.0, 2.0]]), {q}, dim=1, keepdim=true)"
    for kind in ["linear", "lower", "higher", "nearest", "midpoint"]:
        for q in [0.1, 0.3, 0.7, 0.9]:
            yield f"quantile(arange(6.0), {q}, interpolation=\"{kind}\")"
            yield f"quantile(arange(11.0), {q}, interpolation=\"{kind}\")"
    for n in [1, 2, 3]:
        yield f"polygamma({n}, tensor([inf, 2.0, 1e30]))"
    yield "diff(tensor([1.0, 2.0]), n=0, append=tensor([5.0]))"
    yield "index_copy(tensor(3), 0, tensor([0]), tensor([4]))"
    yield "cdist(zeros(2, 0), zeros(3, 0), p=inf)"
    yield "gaussian_nll_loss(ones(2, 4), ones(2, 4), ones(1, 4))"
    yield "tensordot(ones(2, 1), ones(4, 3), 1)"
    yield "tensordot(ones(2, 4), ones(1, 3), 1)"
    for dim in [0, 1, 2, -1]:
        yield f"unique(tensor([[[1, 1], [5, 3]], [[2, 4], [9, 9]]]), dim={dim})"
        yield f"unique((arange(24).reshape(2, 3, 4) * 7 % 3).flip(1), dim={dim}, return_inverse=true, return_counts=true)"
    for margins in [(-1, 3), (3, -1), (-1, -1), (2, 2), (0, -2)]:
        for mode in ["circular", "replicate", "reflect"]:
            yield f"pad(tensor([[1.0, 2.0, 3.0, 4.0]]), {list(margins)}, mode=\"{mode}\")"
    for offsets in ["[0, 2, 3]", "[0, 2, 5]", "[0, 0, 5]"]:
        for mode in ["sum", "max"]:
            yield f"embedding_bag(tensor([0, 1, 1, 0, 1]), tensor([[1.0], [10.0]]), tensor({offsets}), mode=\"{mode}\", include_last_offset=true)"


def writes():
    """Forms in place of functions composed of ops."""
    for call in ["addcmul_(tensor([1.0, 2.0]), tensor([3.0, 4.0]), value=2)", "addcdiv_(tensor([1.0, 2.0]), tensor([2.0, 4.0]), value=2)",
                 "deg2rad_()", "rad2deg_()", "heaviside_(tensor([0.5, 0.5]))", "index_copy_(0, tensor([1]), tensor([7.0]))",
                 "ldexp_(tensor([1, 2]))", "logit_(eps=0.25)", "masked_scatter_(tensor([false, true]), tensor([7.0]))",
                 "mvlgamma_(1)", "put_(tensor([1]), tensor([7.0]))", "sinc_()", "xlogy_(tensor([2.0, 3.0]))"]:
        yield f"x = tensor([0.5, 0.75]); x.{call}; x"
        yield f"x = tensor([0.5, 0.75]); x.{call} is x"
    for call in ["addmm_(ones(2, 3), ones(3, 2), beta=2, alpha=3)", "addr_(ones(2), ones(2))", "renorm_(2, 0, 1.0)",
                 "addbmm_(ones(2, 2, 3), ones(2, 3, 2))"]:
        yield f"x = tensor([[0.5, 0.75], [2.0, 3.0]]); x.{call}; x"
    yield "x = tensor([0.5, 0.75]); x.addmv_(ones(2, 3), ones(3)); x"
    yield "x = ones(1, 2, 2); x.baddbmm_(ones(1, 2, 3), ones(1, 3, 2)); x"
    yield "x = tensor([2.0, 3.0], dtype=f64); x.float_power_(3); x"
    yield "x = tensor([1, 2]); x.addcmul_(tensor([0.5, 0.5]), tensor([1.0, 1.0])); x"
    yield "x = tensor([1, 2]); x.sinc_(); x"
    yield "x = tensor([0.5], dtype=f16); x.addcmul_(tensor([0.5]), tensor([1.0])); x"
    yield "x = tensor([0.5]); x.xlogy_(tensor([[1.0], [2.0]])); x"
