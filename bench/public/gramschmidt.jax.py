import jax.numpy as jnp
import numpy as np
from harness_jax import measure, noise
from jax import jit, lax


@jit
def gramschmidt(a):
    n = a.shape[1]

    def column(k, carried):
        a, q, r = carried
        r = r.at[k, k].set(jnp.sqrt((a[:, k] * a[:, k]).sum()))
        q = q.at[:, k].set(a[:, k] / r[k, k])

        def others(j, carried):
            a, r = carried
            r = r.at[k, j].set(q[:, k] @ a[:, j])
            return a.at[:, j].add(-q[:, k] * r[k, j]), r

        a, r = lax.fori_loop(k + 1, n, others, (a, r))
        return a, q, r

    return lax.fori_loop(0, n, column, (a, jnp.zeros_like(a), jnp.zeros((n, n))))[2]


measure("gramschmidt", gramschmidt, lambda: (noise(80, 60) + np.eye(80, 60),))
