import numpy as np

from matmul_rows import measure

for dtype, suffix in [(np.float32, ""), (np.float64, "_f64")]:
    measure(dtype, suffix, lambda n, dtype: np.arange(n).astype(dtype))
