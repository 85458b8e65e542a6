import numpy as np
import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def cholesky(a):
    at = jnp.arange(a.shape[0])

    def dot(x, y, size):
        return jnp.where(at < size, x, 0.0) @ y

    def row(i, a):
        def column(j, a):
            return a.at[i, j].set((a[i, j] - dot(a[i], a[j], j)) / a[j, j])

        a = lax.fori_loop(0, i, column, a)
        return a.at[i, i].set(jnp.sqrt(a[i, i] - dot(a[i], a[i], i)))

    return jnp.tril(lax.fori_loop(0, a.shape[0], row, a))


def definite(n):
    a = noise(n, n)
    return a @ a.T + n * np.eye(n)


measure("cholesky", cholesky, lambda: (definite(70),))
