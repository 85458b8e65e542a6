import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def tridiagonal(a, b, c, d):
    n = a.shape[-1]
    cp = jnp.zeros_like(a).at[..., 0].set(c[..., 0] / b[..., 0])
    dp = jnp.zeros_like(a).at[..., 0].set(d[..., 0] / b[..., 0])

    def down(i, carried):
        cp, dp = carried
        norm = 1.0 / (b[..., i] - a[..., i] * cp[..., i - 1])
        cp = cp.at[..., i].set(c[..., i] * norm)
        return cp, dp.at[..., i].set((d[..., i] - a[..., i] * dp[..., i - 1]) * norm)

    cp, dp = lax.fori_loop(1, n, down, (cp, dp))

    def up(k, out):
        i = n - 2 - k
        return out.at[..., i].set(dp[..., i] - cp[..., i] * out[..., i + 1])

    return lax.fori_loop(0, n - 1, up, jnp.zeros_like(a).at[..., n - 1].set(dp[..., n - 1]))


def inputs():
    return noise(40, 40, 30), noise(40, 40, 30) + 2.5, noise(40, 40, 30) * 0.9, noise(40, 40, 30) * 0.8


measure("tridiagonal", tridiagonal, inputs)
