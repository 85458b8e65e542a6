import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def durbin(r):
    n = r.shape[0]
    at = jnp.arange(n)

    def step(k, carried):
        y, alpha, beta = carried
        beta *= 1.0 - alpha * alpha
        before = at < k
        backwards = (k - 1 - at) % n
        alpha = -(r[k] + jnp.where(before, r[backwards], 0.0) @ y) / beta
        y = y + jnp.where(before, alpha * y[backwards], 0.0)
        return y.at[k].set(alpha), alpha, beta

    start = jnp.zeros_like(r).at[0].set(-r[0]), -r[0], jnp.float64(1.0)
    return lax.fori_loop(1, n, step, start)[0]


measure("durbin", durbin, lambda: (noise(400) * 0.02,))
