import jax.numpy as jnp
import numpy as np
from harness_jax import measure, noise
from jax import jit, lax


@jit
def trisolv(m, b):
    at = jnp.arange(b.shape[0])

    def row(i, x):
        return x.at[i].set((b[i] - jnp.where(at < i, m[i], 0.0) @ x) / m[i, i])

    return lax.fori_loop(0, b.shape[0], row, jnp.zeros_like(b))


measure("trisolv", trisolv, lambda: (noise(400, 400) + 400 * np.eye(400), noise(400)))
