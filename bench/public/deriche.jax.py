import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def deriche(alpha, image):
    k = (1.0 - jnp.exp(-alpha)) ** 2 / (1.0 + alpha * jnp.exp(-alpha) - jnp.exp(2.0 * alpha))
    a1, a2 = k, k * jnp.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * jnp.exp(-alpha) * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -jnp.exp(-2.0 * alpha)

    def both_ways(x):
        n = x.shape[0]
        down = jnp.empty_like(x).at[0].set(a1 * x[0])
        down = down.at[1].set(a1 * x[1] + a2 * x[0] + b1 * down[0])

        def forwards(i, down):
            return down.at[i].set(a1 * x[i] + a2 * x[i - 1] + b1 * down[i - 1] + b2 * down[i - 2])

        down = lax.fori_loop(2, n, forwards, down)
        up = jnp.empty_like(x).at[-1].set(0.0)
        up = up.at[-2].set(a3 * x[-1])

        def backwards(k, up):
            i = n - 3 - k
            return up.at[i].set(a3 * x[i + 1] + a4 * x[i + 2] + b1 * up[i + 1] + b2 * up[i + 2])

        return down + lax.fori_loop(0, n - 2, backwards, up)

    return both_ways(both_ways(image.T).T)


measure("deriche", deriche, lambda: (0.25, noise(200, 160)))
