import jax.numpy as jnp
import numpy as np
from harness_jax import measure, noise
from jax import jit, lax


@jit
def lu(a):
    n = a.shape[0]
    at = jnp.arange(n)

    def dot(a, i, j, size):
        return jnp.where(at < size, a[i], 0.0) @ a[:, j]

    def row(i, a):
        def left(j, a):
            return a.at[i, j].set((a[i, j] - dot(a, i, j, j)) / a[j, j])

        def right(j, a):
            return a.at[i, j].add(-dot(a, i, j, i))

        return lax.fori_loop(i, n, right, lax.fori_loop(0, i, left, a))

    return lax.fori_loop(0, n, row, a)


measure("lu", lu, lambda: (noise(60, 60) + 60 * np.eye(60),))
