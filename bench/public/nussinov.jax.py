import jax.numpy as jnp
import numpy as np
from harness_jax import measure
from jax import jit, lax


@jit
def nussinov(s):
    n = s.shape[0]
    at = jnp.arange(n)

    def row(k, table):
        i = n - 1 - k
        below = jnp.minimum(i + 1, n - 1)

        def column(j, table):
            pair = jnp.where((i < j - 1) & (s[i] + s[j] == 3), 1, 0)
            best = jnp.maximum(table[i, j - 1], jnp.maximum(table[below, j], table[below, j - 1] + pair))
            splits = table[i] + jnp.roll(table[:, j], -1)
            best = jnp.maximum(best, jnp.max(jnp.where((at > i) & (at < j), splits, 0)))
            return table.at[i, j].set(best)

        return lax.fori_loop(i + 1, n, column, table)

    return lax.fori_loop(0, n, row, jnp.zeros((n, n), jnp.int32))


letters = (np.arange(40) * 7919 % 1009 % 4).astype(np.int32)
measure("nussinov", nussinov, lambda: (letters,))
