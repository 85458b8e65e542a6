import jax.numpy as jnp
import numpy as np
from harness_jax import measure
from jax import jit, lax


@jit
def floyd_warshall(way):
    def step(k, way):
        return jnp.minimum(way, way[:, k, None] + way[k])

    return lax.fori_loop(0, way.shape[0], step, way)


def inputs():
    return (((np.arange(14400) * 7919 % 1009).astype(np.int32) % 7 + 1).reshape(120, 120),)


measure("floyd_warshall", floyd_warshall, inputs)
