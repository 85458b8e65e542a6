import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def trmm(alpha, a, b):
    at = jnp.arange(b.shape[0])

    def row(i, b):
        below = jnp.where(at > i, a[:, i], 0.0)
        return lax.fori_loop(0, b.shape[1], lambda j, b: b.at[i, j].add(below @ b[:, j]), b)

    return lax.fori_loop(0, b.shape[0], row, b) * alpha


measure("trmm", trmm, lambda: (1.5, noise(60, 60), noise(60, 70)))
