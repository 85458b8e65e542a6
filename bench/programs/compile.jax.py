import time

import jax
import jax.numpy as jnp


def pointwise(x, w):
    return jnp.sqrt(jnp.exp((jnp.tanh(x * w + 1) - x) * 0.5) + jax.nn.sigmoid(w)) * x


x = jnp.arange(1000, dtype=jnp.float32) / 1000
jax.jit(lambda x, w: jnp.exp(x) * w + 1)(x, x).block_until_ready()
started = time.perf_counter()
result = jax.jit(pointwise)(x, x).block_until_ready()
print("pointwise", f"{time.perf_counter() - started:.9f}", f"{float(result.sum()):.6f}")
