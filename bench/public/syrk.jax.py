import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def syrk(alpha, beta, c, a):
    at = jnp.arange(c.shape[1])

    def row(i, c):
        c = c.at[i].set(jnp.where(at <= i, beta * c[i], c[i]))

        def term(k, c):
            return c.at[i].add(jnp.where(at <= i, alpha * a[i, k] * a[:, k], 0.0))

        return lax.fori_loop(0, a.shape[1], term, c)

    return lax.fori_loop(0, a.shape[0], row, c)


measure("syrk", syrk, lambda: (1.5, 1.2, noise(70, 70), noise(70, 50)))
