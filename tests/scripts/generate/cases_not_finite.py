"""Calls of ops and composed functions with nan and infinities among their operands: values and gradients."""
from cases_composed import gradients

# A row each of finite numbers, and of them with nan, inf and -inf in one place.
ROWS = "tensor([[0.5, 2.0, -1.5], [nan, 1.0, 0.25], [1.0, inf, -2.0], [0.75, -inf, 3.0]])"
POSITIVE = "tensor([[0.5, 2.0, 1.5], [nan, 1.0, 0.25], [1.0, inf, 2.0], [0.75, 0.125, 3.0]])"
OTHER = "tensor([[1.0, 0.5, 2.0], [1.0, -1.0, 0.5], [2.0, 1.0, 1.0], [0.25, 1.0, -1.0]])"
SHARES = "tensor([[0.5, 0.25, 0.125], [nan, 0.75, 0.25], [0.5, 1.0, 0.0], [0.75, 0.5, 0.25]])"
BITS = "tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])"
SIGNS = f"({BITS} * 2 - 1)"
CLASSES = "tensor([0, 2, 1, 1])"
IMAGE = "tensor([[[[0.5, nan, 1.0, 2.0], [1.0, 3.0, -1.0, inf], [-inf, 0.5, 0.25, 1.0], [2.0, 1.0, 1.0, 3.0]]]])"
STEPS = "tensor([[[0.5, 0.25, 1.0]], [[{}, 1.0, 0.0]], [[0.5, 2.0, 1.0]], [[1.0, 1.0, 0.5]]])"
MANY = f"cat([{ROWS}, ones(30, 3)])"

UNARY = """abs sign sqrt rsqrt square exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh erf erfc sigmoid log_sigmoid relu gelu silu softplus elu leaky_relu floor ceil round trunc frac reciprocal nan_to_num lgamma
digamma logit sinc deg2rad rad2deg relu6 hardtanh hardsigmoid hardswish selu celu mish softsign tanhshrink hardshrink softshrink
neg positive""".split()
BINARY = """add sub mul div floor_div remainder fmod pow maximum minimum atan2 hypot copysign logaddexp logaddexp2 xlogy xlog1py
fmax fmin float_power heaviside rsub""".split()
REDUCTIONS = """sum mean prod amax amin var std logsumexp softmax log_softmax cumsum cumprod norm nansum nanmean logcumsumexp
softmin""".split()
PAIRS = ["max", "min", "cummax", "cummin", "median", "nanmedian", "mode", "sort", "var_mean", "std_mean"]
INDICES = ["argmax", "argmin", "argsort"]


def both(x, expression):
    """The value, and the gradient in x."""
    yield f"x = {x}; {expression}"
    yield from gradients([(x, expression)])


def pointwise():
    for name in UNARY:
        yield from both(ROWS, f"{name}(x)")
    for name in BINARY:
        yield from both(ROWS, f"{name}(x, {OTHER})")
        yield from both(ROWS, f"{name}({OTHER}, x)")
        yield from both(OTHER, f"{name}(x, {ROWS})")
    for call in ["clamp(x, -1.0, 1.0)", "clamp(x, min=0.0)", "clamp(x, max=0.5)", f"clamp({OTHER}, max=x)", f"clamp({OTHER}, min=x)",
                 f"lerp(x, {OTHER}, 0.25)", f"lerp({OTHER}, x, 0.25)", f"lerp({OTHER}, {OTHER}.t().reshape(4, 3), x)",
                 f"addcmul(x, x, {OTHER})", f"addcdiv({OTHER}, x, {OTHER})", f"addcdiv({OTHER}, {OTHER}, x)",
                 f"where({BITS} > 0, x, 0.0)", f"where(x > 0, x, {OTHER})", f"masked_fill(x, {BITS} > 0, 2.0)",
                 "threshold(x, 0.5, -2.0)", "hardtanh(x, -0.5, 0.75)", "celu(x, 0.5)", "prelu(x, tensor([0.25]))",
                 "prelu(x, tensor([0.25, 0.5, 2.0]))", "glu(x[:, :2])", "ldexp(x, tensor([1, 2, 3]))",
                 "softplus(x, 2.0, 1.0)", "elu(x, 0.5)", "leaky_relu(x, 0.2)", "gelu(x, approximate=\"tanh\")",
                 "logit(x, 0.25)", "nan_to_num(x, 1.0, 2.0, 3.0)", "pow(x, 2)", "pow(x, 0.5)", "pow(x, 0)", "pow(x, -1.0)", "pow(2.0, x)",
                 "round(x, decimals=1)", "x % 2.0", "2.0 % x", "xlogy(x, 0.0)", "xlogy(0.0, x)", "mvlgamma(x, 2)", "polygamma(x, 1)"]:
        yield from both(ROWS, call)
    for call in [f"prelu({ROWS}, x)"]:
        yield from both("tensor([nan])", call)
        yield from both("tensor([0.25])", call)
    for call in ["signbit(x)", "isnan(x)", "isposinf(x)", "isneginf(x)", "isfinite(x)", f"x == {OTHER}", f"x < {OTHER}", "x >= x"]:
        yield f"x = {ROWS}; {call}"


def reductions():
    for name in REDUCTIONS:
        yield from both(ROWS, f"{name}(x, dim=1)")
        yield from both(ROWS, f"{name}(x, dim=0)")
        if name not in ["softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "softmin"]:
            yield from both(ROWS, f"{name}(x, dim=(0, 1))" if name != "prod" else "prod(x)")
    for name in PAIRS:
        yield from both(ROWS, f"{name}(x, 1)[0]")
        yield from both(ROWS, f"{name}(x, 0)[0]")
        yield f"x = {ROWS}; {name}(x, 1)"
    for name in INDICES:
        yield f"x = {ROWS}; {name}(x, dim=1)"
        yield f"x = {ROWS}; {name}(x, dim=0)"
    for p in ["0", "1", "2", "3", "0.5", "inf", "-inf", "-1"]:
        yield from both(ROWS, f"norm(x, {p}, 1)")
        yield from both(ROWS, f"vector_norm(x, {p}, dim=1)")
        yield from both(ROWS, f"dist(x, {OTHER}, {p})")
        yield from both(ROWS, f"normalize(x, {p}, 1)")
        yield from both(ROWS, f"pairwise_distance(x, {OTHER}, {p})")
        yield from both(OTHER, f"pairwise_distance(x, {ROWS}, {p})")
        if float(p) > 0:
            yield from both(ROWS, f"renorm(x, {p}, 0, 1.5)")
        if float(p) >= 0:
            yield from both(ROWS, f"cdist(x, {OTHER}, {p})")
            yield from both(OTHER, f"cdist({ROWS}, x, {p})")
            yield from both(MANY, f"cdist(x, {OTHER}, {p})")
    for mode in ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"]:
        yield from both(ROWS, f"cdist(x, {OTHER}, compute_mode=\"{mode}\")")
    yield from [f"cdist({MANY}, {OTHER}).argmin(0)", f"x = {ROWS}; topk(x, 2, 1)", f"x = {ROWS}; kthvalue(x, 2, 1)", f"x = {ROWS}; aminmax(x, dim=1)",
                f"x = {ROWS}; isin(x, tensor([nan, inf, 1.0]))", f"x = {ROWS}; searchsorted(tensor([0.0, 1.0, inf]), x)",
                f"x = {ROWS}; bucketize(x, tensor([0.0, 1.0, 2.0]))", f"x = {ROWS}; unique_consecutive(tensor([nan, nan, 1.0]))",
                f"x = {ROWS}; count_nonzero(x, 1)", f"x = {ROWS}; any(x, 1)", f"x = {ROWS}; all(x, 1)", "histc(tensor([nan, 1.0, 2.0]), 2, 0, 3)",
                "histc(tensor([inf, 1.0, -inf]), 2, 0, 3)", "histc(tensor([nan, 1.0, 2.0]), 2)", "histc(tensor([inf, 1.0]), 2)",
                "histc(tensor([1.0]), 2, nan, 3)", "histc(tensor([1.0]), 2, 0, inf)"]
    for call in ["quantile(x, 0.3, dim=1)", "nanquantile(x, 0.3, dim=1)", "quantile(x, 0.3, dim=1, interpolation=\"nearest\")", "cov(x)", "corrcoef(x)", "diff(x)", "trapezoid(x)",
                 "cumulative_trapezoid(x)", f"cosine_similarity(x, {OTHER})", "layer_norm(x, [3])", "rms_norm(x, [3], eps=1e-5)",
                 "group_norm(x, 3)", "group_norm(x, 1)", "batch_norm(x, none, none, training=true)",
                 "batch_norm(x, tensor([0.0, nan, 1.0]), tensor([1.0, 2.0, inf]))", "instance_norm(x.reshape(1, 4, 3))",
                 "local_response_norm(x.reshape(1, 4, 3), 2)", f"inner(x, {OTHER})", f"vecdot(x, {OTHER})", f"x @ {OTHER}.t()"]:
        yield from both(ROWS, call)


def losses():
    for call in [f"mse_loss(x, {OTHER})", f"l1_loss(x, {OTHER})", f"smooth_l1_loss(x, {OTHER})", f"smooth_l1_loss(x, {OTHER}, beta=0.0)",
                 f"huber_loss(x, {OTHER}, delta=0.5)", f"cross_entropy(x, {CLASSES})", f"cross_entropy(x, {CLASSES}, label_smoothing=0.25)",
                 f"cross_entropy(x, softmax({OTHER}, 1))", f"nll_loss(x, {CLASSES})", f"kl_div(x, {SHARES}.nan_to_num(0.0))",
                 f"kl_div({OTHER}, x)", f"kl_div({OTHER}, x, log_target=true)", f"hinge_embedding_loss(x, {SIGNS})", f"margin_ranking_loss(x, {OTHER}, {SIGNS})",
                 f"margin_ranking_loss({OTHER}, x, {SIGNS})", f"soft_margin_loss(x, {SIGNS})", f"multi_margin_loss(x, {CLASSES})",
                 f"multi_margin_loss(x, {CLASSES}, p=2)", f"multilabel_soft_margin_loss(x, {BITS})", f"poisson_nll_loss(x, {POSITIVE}, full=true)",
                 f"poisson_nll_loss({OTHER}, x, full=true)", f"poisson_nll_loss(x, {BITS}, log_input=false)",
                 f"gaussian_nll_loss(x, {OTHER}, {BITS} + 0.5)", f"gaussian_nll_loss({OTHER}, x, {BITS} + 0.5)", f"triplet_margin_loss(x, {OTHER}, {OTHER} + 1)",
                 f"triplet_margin_loss({OTHER}, x, {OTHER} + 1, swap=true)", f"triplet_margin_loss({OTHER}, {OTHER} + 1, x, swap=true)",
                 f"cosine_embedding_loss(x, {OTHER}, tensor([1, -1, 1, -1]))", f"cosine_embedding_loss({OTHER}, x, tensor([1, -1, 1, -1]))",
                 f"binary_cross_entropy_with_logits(x, {BITS})", f"binary_cross_entropy_with_logits({OTHER}, {SHARES})"]:
        for reduction in ["none", "mean"]:
            yield from both(ROWS, call[:-1] + f", reduction=\"{reduction}\")")
    for reduction in ["none", "mean"]:
        yield from both(POSITIVE, f"gaussian_nll_loss({OTHER}, {BITS}, x, reduction=\"{reduction}\")")
        yield from both(POSITIVE, f"gaussian_nll_loss({OTHER}, {BITS}, x, full=true, eps=0.6, reduction=\"{reduction}\")")
        yield from both(SHARES, f"binary_cross_entropy(x, {BITS}, reduction=\"{reduction}\")")
        for weight in ["weight=tensor([1.0, nan, 2.0])", "weight=tensor([1.0, 0.0, inf])"]:
            yield from both(OTHER, f"multi_margin_loss(x, {CLASSES}, {weight}, reduction=\"{reduction}\")")
            yield from both(OTHER, f"cross_entropy(x, {CLASSES}, {weight}, reduction=\"{reduction}\")")
        for bad in ["nan", "inf", "-inf", "1.0"]:
            for lengths in ["[4], [2]", "[2], [2]", "[1], [2]", "[4], [1]", "[1], [1]", "[0], [0]", "[0], [1]"]:
                for rest in ["", ", zero_infinity=true"]:
                    for normalized in ["x", "log_softmax(x, 2)"]:
                        call = f"ctc_loss({normalized}, tensor([[1, 2]]), {lengths}{rest}, reduction=\"{reduction}\")"
                        yield f"x = {STEPS.format(bad)}; {call}"
    for lengths in ["[-1], [1]", "[4], [-1]", "[4], [5]"]:
        yield f"ctc_loss(zeros(4, 1, 3), tensor([[1, 2]]), {lengths})"


def images():
    for call in ["max_pool2d(x, 2)", "avg_pool2d(x, 2)", "adaptive_avg_pool2d(x, 2)", "interpolate(x, 3, mode=\"bilinear\")", "interpolate(x, 3, mode=\"nearest\")",
                 "interpolate(x, 3, mode=\"bicubic\")", "interpolate(x, 3, mode=\"area\")", "im2col(x, 2)", "pixel_unshuffle(x, 2)",
                 "fold(x.reshape(1, 4, 4), 3, 2)", "pad(x, (1, 1))"]:
        yield from both(IMAGE, call)
    for padding in ["zeros", "border", "reflection"]:
        for align in ["false", "true"]:
            for mode in ["bilinear", "nearest", "bicubic"]:
                options = f"mode=\"{mode}\", padding_mode=\"{padding}\", align_corners={align}"
                yield from both(IMAGE, f"grid_sample(x, tensor([[[[0.1, -0.3], [0.7, 0.7], [-1.2, 0.5]]]]), {options})")
    # PyTorch reads at random where a place is nan and the mode is another.
    for align in ["false", "true"]:
        yield from both("tensor([[[[nan, 0.2], [0.3, inf], [-inf, 0.1], [0.1, -0.3]]]])",
                        f"grid_sample(arange(16.0).reshape(1, 1, 4, 4), x, align_corners={align})")
    for call in ["embedding_bag(tensor([[0, 1], [2, 3]]), x, mode=\"max\")", "embedding_bag(tensor([[0, 1], [2, 3]]), x)",
                 "embedding_bag(tensor([0, 1, 2, 3]), x, tensor([0, 2]), mode=\"sum\")", "embedding_bag(tensor([[0, 1], [2, 0]]), x, mode=\"max\", padding_idx=1)",
                 "affine_grid(x[:2].reshape(1, 2, 3), (1, 1, 2, 2))", "bilinear(x, x, ones(2, 3, 3))"]:
        yield from both(ROWS, call)
