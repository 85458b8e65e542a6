#!/usr/bin/env python3
# Environment: jax
"""The package for Python with arrays of JAX and of NumPy 2: memory is shared, and arrays that never change do not."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("KILN_LIBRARY", str(Path(os.environ["KILN"]).parent / "libkiln.so.1"))
sys.path.insert(0, str(ROOT / "embed" / "python"))
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import kiln  # noqa: E402
import numpy as np  # noqa: E402

session = kiln.Session()
session.eval("fn where(x) = x.data_ptr()\nfn add_(x) { x += 1; return x }\nfn double(x) = x * 2")

# From JAX: the same memory, and a write goes to a copy.
for dtype in (jnp.float32, jnp.int32, jnp.bfloat16, jnp.float16, jnp.uint8, jnp.bool_):
    x = jnp.arange(8).reshape(2, 4).astype(dtype)
    assert session.where(x) == x.unsafe_buffer_pointer(), dtype
x = jnp.arange(4, dtype=jnp.float32)
assert session.add_(x).tolist() == [1, 2, 3, 4] and x.tolist() == [0, 1, 2, 3]
assert session.double(jax.jit(jnp.sin)(x)).numpy().tolist() == (jnp.sin(x) * 2).tolist()

# To JAX: the same memory where it is aligned, as what Kiln makes is.
y = session.double(x)
back = jax.dlpack.from_dlpack(y)
assert back.unsafe_buffer_pointer() == y.data_ptr() and back.tolist() == [0, 2, 4, 6]
assert jax.dlpack.from_dlpack(session.eval("ones(2, dtype=bf16)")).dtype == jnp.bfloat16

# NumPy 2 takes and gives versioned capsules.
a = np.arange(4.0)
assert "versioned" in repr(y.__dlpack__(max_version=(1, 0)))
assert session.where(a) == a.ctypes.data
shared = np.from_dlpack(session.tensor(a))
shared[0] = 7
assert a[0] == 7 and shared.ctypes.data == a.ctypes.data
a.flags.writeable = False
assert session.add_(a).tolist() == [8, 2, 3, 4] and a.tolist() == [7, 1, 2, 3]
flags = np.array([True, False])
assert session.where(flags) == flags.ctypes.data
print(f"JAX {jax.__version__}, NumPy {np.__version__}")
