"""Expressions over the functions of stdlib/prelude_layers.kiln, prelude_images.kiln and prelude_sampling.kiln."""
from cases_composed import CUBE, MATRIX, gradients

ROWS = "(arange(60.0) * 7 % 11).reshape(30, 2)"
SIGNAL = "tensor([[[1.0, 4.0, 2.0, 8.0], [0.5, -1.0, 3.0, 0.0]]])"
IMAGE = "(arange(24.0) * 7 % 11).reshape(1, 2, 3, 4)"
VOLUME = "(arange(16.0) * 7 % 11).reshape(1, 2, 2, 2, 2)"
THETA = "tensor([[[0.75, 0.25, 0.125], [-0.5, 1.25, -0.25]]])"
GRID = f"affine_grid({THETA}, (1, 1, 3, 2))"
FAR = "tensor([[[[-1.0, -1.0], [1.0, 1.0], [0.25, -0.5]], [[-2.5, 0.0], [0.5, 3.75], [7.0, -5.0]]]])"
MODES = ["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area", "other"]


def layers():
    for rest in ["", ", dim=0", ", p=1", ", 3.0, 0", ", p=inf", ", eps=10.0", ", 2.0, 2"]:
        yield f"normalize({MATRIX}{rest})"
    yield from [f"normalize({CUBE}, dim=(0, 2))", "normalize(zeros(2, 3))", "normalize(ones(2, 2, dtype=f16))", "normalize(zeros(0, 2))"]
    for rest in ["", ", dim=0", ", 1, 5.0", ", dim=2"]:
        yield f"cosine_similarity({MATRIX}, {MATRIX}.flip(1){rest})"
        yield f"cosine_similarity({MATRIX}, {MATRIX}[0]{rest})"
    yield "cosine_similarity(zeros(2, 3), ones(2, 3))"
    for rest in ["", ", 1", ", p=inf", ", 2.0, 0.5", ", keepdim=true", ", p=0"]:
        yield f"pairwise_distance({MATRIX}, {MATRIX}.flip(0){rest})"
        yield f"pairwise_distance({MATRIX}[0], {MATRIX}{rest})"
    for rest in ["", ", p=1", ", 3.0", ", p=inf", ", p=0", ", p=-1", ", compute_mode=\"use_mm_for_euclid_dist\"",
                 ", compute_mode=\"donot_use_mm_for_euclid_dist\"", ", compute_mode=\"no\""]:
        yield f"cdist({MATRIX}, {MATRIX}.flip(0){rest})"
    yield from [f"cdist({ROWS}, {ROWS}[:3] + 0.5)", f"cdist({CUBE}, {CUBE}[:, :2])", "cdist(ones(2, 3), ones(2, 4))", "cdist(ones(3), ones(2, 3))",
                "cdist(zeros(0, 2), ones(3, 2))", f"cdist({CUBE}, {MATRIX})"]
    for rest in ["", ", weight=tensor([2.0, 0.5])", ", weight=tensor([2.0, 0.5]), bias=tensor([1.0, -1.0])", ", eps=1.0",
                 ", running_mean=tensor([1.0, 2.0]), running_var=tensor([4.0, 1.0]), use_input_stats=false", ", use_input_stats=false"]:
        yield f"instance_norm({SIGNAL}{rest})"
        yield f"instance_norm({IMAGE}{rest})"
    yield from ["instance_norm(ones(2, 3, 1))", "instance_norm(ones(2, 3, 1, 1))",
                f"m = zeros(2); v = ones(2); y = instance_norm({IMAGE}, m, v, momentum=0.25); (y, m, v)"]
    for x in [SIGNAL, IMAGE, VOLUME, "ones(2, 3)"]:
        for rest in ["2", "3, 0.5, 0.5, 2.0", "size=1, alpha=0.1", "4, k=2.0"]:
            yield f"local_response_norm({x}, {rest})"
    table = "(arange(12.0) * 7 % 11).reshape(6, 2)"
    for mode in ["sum", "mean", "max", "other"]:
        for x in [f"tensor([[0, 2, 1], [5, 5, 3]]), {table}", f"tensor([0, 2, 1, 5, 5]), {table}, tensor([0, 2])",
                  f"tensor([0, 2, 1, 5, 5]), {table}, tensor([0, 2, 2, 4])", f"tensor([0, 2, 1]), {table}"]:
            yield f"embedding_bag({x}, mode=\"{mode}\")"
            yield f"embedding_bag({x}, mode=\"{mode}\", padding_idx=5)"
        yield f"embedding_bag(tensor([0, 2, 1]), {table}, tensor([0, 1, 3]), mode=\"{mode}\", include_last_offset=true)"
        yield f"embedding_bag(tensor([0, 2, 1]), {table}, tensor([0, 1]), mode=\"{mode}\", per_sample_weights=tensor([0.5, 2.0, -1.0]))"
        yield f"embedding_bag(tensor([[0, 9]]), {table}, mode=\"{mode}\")"
    for name in ["dropout1d", "dropout2d", "alpha_dropout"]:
        yield from [f"{name}({SIGNAL}, 0.5, false)", f"{name}({IMAGE}, p=0.0, training=true)", f"{name}({SIGNAL}, 1.5, true)",
                    f"{name}({SIGNAL}, 1.0, true)"]
    yield from gradients([
        (MATRIX, "normalize(x)"), ("tensor([[0.0, 0.0], [3.0, 4.0]])", "normalize(x)"), (MATRIX, "cosine_similarity(x, x.flip(1))"),
        (MATRIX, "pairwise_distance(x, x[0])"), (MATRIX, "cdist(x, x.flip(0) + 0.5)"), (f"{ROWS}.to(f64)", "cdist(x, x.flip(0) + 0.5)"),
        (IMAGE, "instance_norm(x, weight=tensor([2.0, 0.5]))"), (IMAGE, "local_response_norm(x, 2, 0.5)"),
        (table, "embedding_bag(tensor([[0, 2], [5, 5]]), x)"), (table, "embedding_bag(tensor([0, 2, 1]), x, tensor([0, 2]), mode=\"max\")"),
        (table, "embedding_bag(tensor([[0, 2], [5, 5]]), x, mode=\"sum\", padding_idx=5)")])


def images():
    for x, sizes, factors in [(SIGNAL, ["7", "(3,)", "4", "1", "(2, 2)"], ["2", "0.5", "1.7", "(2.5,)"]),
                              (IMAGE, ["5", "(2, 7)", "(3, 4)", "1", "(6, 8)"], ["2", "(0.5, 1.5)", "0.7", "(2, 2, 2)"]),
                              (VOLUME, ["3", "(2, 1, 4)"], ["2"]), ("ones(2, 3)", ["2"], ["2"])]:
        for mode in MODES:
            for size in sizes:
                yield f"interpolate({x}, {size}, mode=\"{mode}\")"
            for factor in factors:
                yield f"interpolate({x}, scale_factor={factor}, mode=\"{mode}\")"
            yield f"interpolate({x}, {sizes[0]}, mode=\"{mode}\", align_corners=true)"
            yield f"interpolate({x}, scale_factor={factors[0]}, mode=\"{mode}\", align_corners=false)"
            yield f"interpolate({x}, scale_factor={factors[-1]}, mode=\"{mode}\", recompute_scale_factor=true)"
        yield from [f"interpolate({x})", f"interpolate({x}, 2, 2)", f"interpolate({x}, 0)"]
    yield from [f"interpolate({IMAGE}.to(f64), 5, mode=\"bilinear\")", f"interpolate({IMAGE}.to(f16), 5, mode=\"bilinear\")",
                f"interpolate({IMAGE}.to(u8), 5)"]
    for r in ["1", "2", "3", "0"]:
        for x in ["arange(48).reshape(1, 12, 2, 2)", "arange(16.0).reshape(4, 2, 2)", "ones(4, 4)", "arange(36).reshape(1, 1, 6, 6)", "zeros(0, 4, 2, 2)"]:
            yield f"pixel_shuffle({x}, {r})"
            yield f"pixel_unshuffle({x}, {r})"
    for x in ["arange(12).reshape(1, 6, 2)", "arange(16.0).reshape(1, 4, 2, 2)", "ones(4, 4)"]:
        for groups in ["1", "2", "3", "0"]:
            yield f"channel_shuffle({x}, {groups})"
    for rest in ["2", "(2, 3)", "2, stride=2", "2, padding=1", "2, dilation=2", "(3, 2), 1, (1, 0), (2, 1)", "5", "4, padding=1, stride=3"]:
        for x in [IMAGE, f"{IMAGE}[0]", "ones(3, 3)", "ones(0, 2, 3, 4)"]:
            yield f"im2col({x}, {rest})"
    for x, rest in [("ones(1, 8, 6)", "(3, 4), 2"), ("arange(48.0).reshape(8, 6)", "(3, 4), 2"), ("ones(1, 8, 20)", "(3, 4), 2, padding=1"),
                    ("arange(16.0).reshape(1, 8, 2)", "(3, 4), 2, stride=(1, 2), dilation=(2, 1)"), ("ones(1, 8, 5)", "(3, 4), 2"),
                    ("ones(1, 7, 6)", "(3, 4), 2"), ("ones(3)", "(3, 4), 2"), ("arange(36.0).reshape(1, 4, 9)", "4, 2"),
                    ("ones(1, 4, 4)", "4, 2, stride=2"), ("ones(1, 4, 0)", "1, 2")]:
        yield f"fold({x}, {rest})"
    for align in ["false", "true"]:
        for size in ["(1, 3, 2, 4)", "(1, 1, 1, 3)", "(2, 1, 2, 2)", "(1, 1, 0, 2)", "(1, 1, 2)"]:
            yield f"affine_grid({THETA}, {size}, align_corners={align})"
        yield f"affine_grid(ones(1, 3, 4), (1, 1, 2, 3, 2), align_corners={align})"
        for mode in ["bilinear", "nearest", "other"]:
            for padding in ["zeros", "border", "reflection", "other"]:
                for grid in [GRID, FAR]:
                    yield f"grid_sample({IMAGE}, {grid}, mode=\"{mode}\", padding_mode=\"{padding}\", align_corners={align})"
    yield from [f"grid_sample({IMAGE}, {GRID}[..., :1])", f"grid_sample({IMAGE}[0], {GRID})", f"grid_sample({IMAGE}, {GRID}.to(f64))",
                f"grid_sample({IMAGE}.to(f64), {FAR}.to(f64))", "grid_sample(ones(2, 1, 2, 2), zeros(1, 1, 1, 2))", f"grid_sample({IMAGE}, zeros(1, 0, 2, 2))"]
    yield from gradients([
        (SIGNAL, "interpolate(x, 7, mode=\"linear\")"), (IMAGE, "interpolate(x, scale_factor=2)"), (IMAGE, "interpolate(x, (2, 7), mode=\"bilinear\")"),
        (IMAGE, "interpolate(x, (2, 7), mode=\"bicubic\", align_corners=true)"), (VOLUME, "interpolate(x, 3, mode=\"trilinear\")"),
        (IMAGE, "interpolate(x, 2, mode=\"area\")"), (IMAGE, "im2col(x, 2, padding=1)"), ("arange(48.0).reshape(1, 8, 6)", "fold(x, (3, 4), 2)"),
        (IMAGE, f"grid_sample(x, {FAR})"), (FAR, f"grid_sample({IMAGE}, x)"), (FAR, f"grid_sample({IMAGE}, x, padding_mode=\"border\")"),
        (FAR, f"grid_sample({IMAGE}, x, padding_mode=\"reflection\", align_corners=true)"), (THETA, "affine_grid(x, (1, 1, 3, 2))"),
        ("arange(16.0).reshape(1, 4, 2, 2)", "pixel_shuffle(x, 2)")])
