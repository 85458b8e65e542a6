import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
q = x.view(2048, 2048)
m = x.view(4096, 1024)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], first.to(torch.float64).mean().item())


timed("transpose", lambda: q.t().contiguous())
timed("transpose_f64", lambda: q.to(torch.float64).t().contiguous())
timed("add_transposed", lambda: q + q.t())
timed("permute", lambda: x.view(128, 128, 256).permute(2, 0, 1).contiguous())
timed("channels_last", lambda: x.view(16, 64, 64, 64).permute(0, 2, 3, 1).contiguous())
timed("heads", lambda: x.view(8, 512, 16, 64).transpose(1, 2).contiguous())
timed("cat_rows", lambda: torch.cat([m, m]))
timed("cat_columns", lambda: torch.cat([m, m], 1))
timed("stack", lambda: torch.stack([x, x]))
timed("pad", lambda: torch.nn.functional.pad(m, (8, 8, 8, 8)))
timed("flip", lambda: m.flip(1))
timed("roll", lambda: torch.roll(m, 3, 1))
timed("where", lambda: torch.where(x > 0, x, 0.0))
timed("compare", lambda: x > 0.5)
timed("cast_f64", lambda: x.to(torch.float64))
timed("repeat", lambda: torch.repeat_interleave(x[:1048576], 4))
timed("flip_rows", lambda: m.flip(0))
timed("flip_f64", lambda: m.to(torch.float64).flip(1))
timed("roll_all", lambda: torch.roll(x, 12345))
timed("roll_rows", lambda: torch.roll(m, 3, 0))
timed("tile", lambda: q[:1024].repeat(1, 2))
timed("tile_rows", lambda: m[:2048].repeat(2, 1))
timed("repeat_rows", lambda: torch.repeat_interleave(m[:1024], 4, 0))
timed("stretch", lambda: q[0].expand(2048, 2048).contiguous())
timed("every_other", lambda: q[:, ::2].contiguous())
timed("clone", lambda: x.clone())
timed("tril", lambda: torch.tril(q))
timed("one_hot", lambda: torch.nn.functional.one_hot(torch.arange(4096) % 1000, 1000))
timed("cast_f16", lambda: x.to(torch.float16))
timed("cast_bf16", lambda: x.to(torch.bfloat16))
timed("cast_i64", lambda: x.to(torch.int64))
