import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def symm(alpha, beta, c, a, b):
    m, n = c.shape
    at = jnp.arange(m)

    def row(i, c):
        part = jnp.where(at < i, a[i], 0.0)

        def column(j, c):
            c = c.at[:, j].add(alpha * b[i, j] * part)
            return c.at[i, j].add(alpha * b[i, j] * a[i, i] + alpha * (b[:, j] @ part))

        return lax.fori_loop(0, n, column, c)

    return lax.fori_loop(0, m, row, c * beta)


measure("symm", symm, lambda: (1.5, 1.2, noise(40, 50), noise(40, 40), noise(40, 50)))
