import jax.numpy as jnp
import numpy as np
from harness_jax import measure, noise
from jax import jit, lax


@jit
def ludcmp(a, b):
    n = a.shape[0]
    at = jnp.arange(n)

    def before(x, y, size):
        return jnp.where(at < size, x, 0.0) @ y

    def row(i, a):
        def left(j, a):
            return a.at[i, j].set((a[i, j] - before(a[i], a[:, j], j)) / a[j, j])

        def right(j, a):
            return a.at[i, j].add(-before(a[i], a[:, j], i))

        return lax.fori_loop(i, n, right, lax.fori_loop(0, i, left, a))

    a = lax.fori_loop(0, n, row, a)
    y = lax.fori_loop(0, n, lambda i, y: y.at[i].set(b[i] - before(a[i], y, i)), jnp.zeros_like(b))

    def back(k, x):
        i = n - 1 - k
        return x.at[i].set((y[i] - jnp.where(at > i, a[i], 0.0) @ x) / a[i, i])

    return lax.fori_loop(0, n, back, jnp.zeros_like(b))


measure("ludcmp", ludcmp, lambda: (noise(60, 60) + 60 * np.eye(60), noise(60)))
