import math
import time

import torch
import torch.nn.functional as F


def fastest(f):
    f()
    best = 1.0
    for _ in range(100):
        started = time.perf_counter()
        for _ in range(5):
            f()
        best = min(best, time.perf_counter() - started)
    return best / 5


def filled(*shape):
    n = math.prod(shape)
    return ((torch.arange(n) * 7919 % 1009).to(torch.float32) / 1009 - 0.5).reshape(shape)


def measure(size, narrow, square, many, batch, planes):
    def timed(name, f):
        r = f()
        first = r[0] if isinstance(r, tuple) else r
        print(f"{name}_{size}", f"{fastest(f):.12f}", first.to(torch.float64).abs().mean().item())

    a, b = filled(narrow, 16), filled(square, square)
    row, column, short_row, short_column = b[0], b[:, :1].contiguous(), a[0], a[:, :1].contiguous()
    c, images = filled(32, square, 32), filled(*planes)
    m, w = filled(batch, 8, 8), filled(batch, 16, 16)
    rows, labels = torch.arange(narrow) * 7919 % narrow, torch.arange(square) % square
    counts = torch.arange(many) * 7919 % 1009
    timed("add", lambda: b + b)
    timed("add_row", lambda: b + row)
    timed("times_column", lambda: b * column)
    timed("add_short_row", lambda: a + short_row)
    timed("times_short_column", lambda: a * short_column)
    timed("channels", lambda: images * images[0, :, :1, :1])
    timed("outer", lambda: row.outer(row))
    timed("clamp", lambda: b.clamp(-0.2, 0.2))
    timed("where", lambda: torch.where(b > 0, b, -b))
    timed("gelu", lambda: F.gelu(b))
    timed("sum_short_rows", lambda: a.sum(1))
    timed("sum_rows", lambda: b.sum(1))
    timed("sum_columns", lambda: b.sum(0))
    timed("sum_middle", lambda: c.sum(1))
    timed("mean", lambda: b.mean())
    timed("var_rows", lambda: b.var(1))
    timed("max_rows", lambda: b.max(1))
    timed("argmax_rows", lambda: b.argmax(1))
    timed("softmax_short_rows", lambda: a.softmax(1))
    timed("softmax_rows", lambda: b.softmax(1))
    timed("log_softmax", lambda: b.log_softmax(1))
    timed("layer_norm", lambda: F.layer_norm(b, [square]))
    timed("cross_entropy", lambda: F.cross_entropy(b, labels))
    timed("row_times_matrix", lambda: b[:1] @ b)
    timed("row_times_transposed", lambda: b[:1] @ b.t())
    timed("matrix_times_matrix", lambda: b @ b)
    timed("batch_of_8", lambda: m @ m)
    timed("batch_of_16", lambda: w @ w)
    timed("conv", lambda: F.conv2d(images, images[:4, :, :3, :3], padding=1))
    timed("max_pool", lambda: F.max_pool2d(images, 2))
    timed("avg_pool", lambda: F.avg_pool2d(images, 2))
    timed("cat_rows", lambda: torch.cat([b, b, b], 0))
    timed("cat_columns", lambda: torch.cat([b, b, b], 1))
    timed("stack", lambda: torch.stack([b, b, b], 1))
    timed("transposed", lambda: b.t().contiguous())
    timed("pad", lambda: F.pad(b, [1, 1, 1, 1]))
    timed("flip", lambda: b.flip(1))
    timed("pick_rows", lambda: a[rows])
    timed("gather", lambda: b.gather(1, labels.view(square, 1)))
    timed("mask", lambda: b[b > 0])
    timed("cumsum", lambda: b.cumsum(1))
    timed("sort_rows", lambda: b.sort(1))
    timed("topk", lambda: b.topk(5, 1))
    timed("bincount", lambda: counts.bincount())
    timed("int_div", lambda: counts // 7)
    timed("cholesky", lambda: torch.linalg.cholesky(m @ m.transpose(1, 2) + 8 * torch.eye(8)))
    timed("randn", lambda: 0 * torch.randn(square, square))
    timed("dropout", lambda: 0 * F.dropout(b, 0.5, training=True))


measure("small", 1024, 128, 10000, 64, (16, 8, 14, 14))
measure("medium", 16384, 512, 1000000, 512, (16, 16, 56, 56))
