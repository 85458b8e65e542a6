from functools import partial

import jax
import jax.numpy as jnp

import common
from common import filled_by

filled = filled_by(jnp.arange, lambda x: x.astype(jnp.float32))
timed = partial(common.timed, wait=jax.block_until_ready)


def attended(q, k, v):
    return jnp.square(jax.nn.softmax((q @ jnp.swapaxes(k, -2, -1)) / 8, axis=-1) @ v).mean()


qkv = [filled(8, 8, 256, 64) * s for s in (1.0, 2.0, 3.0)]
attention = jax.jit(jax.value_and_grad(attended, argnums=(0, 1, 2)))
timed("attention", lambda: attention(*qkv)[1], lambda: jnp.abs(attention(*qkv)[1][0] * 1e6).mean())

xs = filled(100, 1, 64)


def scanned(w, u):
    def step(carry, x):
        h, c = carry
        a, b, g, o = jnp.split(x @ w + h @ u, 4, axis=1)
        c = jax.nn.sigmoid(b) * c + jax.nn.sigmoid(a) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((1, 64))
    (h, _), _ = jax.lax.scan(step, (zero, zero), xs)  # unrolled, its compiler takes minutes
    return jnp.square(h).sum()


weights = [filled(64, 256) * 0.4 for _ in range(2)]
lstm = jax.jit(jax.value_and_grad(scanned, argnums=(0, 1)))
timed("lstm", lambda: lstm(*weights)[1], lambda: jnp.abs(lstm(*weights)[1][1]).mean())
