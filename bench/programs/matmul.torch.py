import torch

from matmul_rows import measure

for dtype, suffix in [(torch.float32, ""), (torch.float64, "_f64")]:
    measure(dtype, suffix, lambda n, dtype: torch.arange(n).to(dtype))
