import time

import torch

n = 1 << 22
x = (torch.arange(n).to(torch.float32) % 1000) / 250 - 2
q = x.view(2048, 2048)
m = x.view(4096, 1024)
p = q * 0.5 + 1
other = p.view(4096, 1024).clone()
half = q.to(torch.bfloat16)
bytes = (torch.arange(n) % 251).to(torch.uint8).view(2048, 2048)
images = x.view(64, 64, 32, 32)
small = x[:3211264].view(32, 2048, 7, 7)
steps = x.view(64, 256, 256)
places = torch.arange(1024) * 7 % 1024
wide_places = (torch.arange(n) * 31 % 2048).view(2048, 2048)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    print(name, sorted(times)[7], r.to(torch.float64).mean().item())


timed("sum_channels", lambda: images.sum(dim=(0, 2, 3)))
timed("sum_small_images", lambda: small.sum(dim=(0, 2, 3)))
timed("max_channels", lambda: images.amax(dim=(0, 2, 3)))
timed("var_channels", lambda: images.var(dim=(0, 2, 3)))
timed("mean_steps", lambda: steps.mean(dim=1))
timed("max_steps", lambda: steps.amax(dim=1))
timed("sum_permuted", lambda: steps.permute(2, 0, 1).sum(dim=2))
timed("sum_part", lambda: torch.sum(m[:, :512]))
timed("sum_rows_of_part", lambda: m[:, :512].sum(dim=1))
timed("sum_short_part", lambda: m[:, :16].sum(dim=1))
timed("sum_every_other", lambda: m[:, ::2].sum(dim=1))
timed("sum_windows", lambda: m.unfold(1, 8, 4).sum(dim=2))
timed("softmax_part", lambda: m[:, :512].softmax(dim=1))
timed("softmax_transposed", lambda: q.t().softmax(dim=1))
timed("cumsum_part", lambda: m[:, :512].cumsum(dim=1))
timed("relu_part", lambda: torch.relu(m[:, :512]))
timed("add_parts", lambda: m[:, :512] + other[:, 512:])
timed("add_column", lambda: m + m[:, 0:1])
timed("part", lambda: m[:, :64].contiguous())
timed("copy_to_part", lambda: other[:, :64].copy_(m[:, 64:128]))
timed("add_to_part", lambda: other[:, :64].add_(m[:, 64:128]))
timed("columns", lambda: m[:, places])
timed("transpose_bf16", lambda: half.t().contiguous())
timed("transpose_u8", lambda: bytes.t().contiguous())
timed("batch_transposed", lambda: x.view(64, 256, 256).transpose(1, 2).contiguous())
timed("times_transposed", lambda: (q.t() * p.t()).contiguous())
timed("neg_transposed", lambda: (-q.t()).contiguous())
timed("where_transposed", lambda: torch.where(q.t() > 0, p.t(), q).contiguous())
timed("cast_transposed", lambda: q.t().to(torch.bfloat16).contiguous())
timed("flip_transposed", lambda: q.t().flip(0).contiguous())
timed("rows_of_transposed", lambda: q.t()[places])
timed("gather_in_transposed", lambda: q.t().gather(1, wide_places))
