from functools import partial

import jax
import jax.numpy as jnp

import common
from common import filled_by

filled = filled_by(jnp.arange, lambda x: x.astype(jnp.float32))
timed = partial(common.timed, wait=jax.block_until_ready)

params = {"w1": filled(512, 784) * 0.1, "b1": jnp.zeros(512), "w2": filled(10, 512) * 0.1, "b2": jnp.zeros(10)}


def loss(p, x, y):
    h = jax.nn.relu(p["w1"] @ x + p["b1"])
    return -jax.nn.log_softmax(p["w2"] @ h + p["b2"])[y]


x = filled(256, 784)
y = jnp.arange(256) % 10
per_sample = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
timed(
    "per_sample_gradients",
    lambda: per_sample(params, x, y),
    lambda: jnp.abs(per_sample(params, x, y)["w1"][255]).sum(),
)

a = filled(64, 64)


def scalar(v):
    return (jnp.tanh(a @ v) ** 2).sum() + (jnp.sin(v) * v).sum()


v = filled(64)
hessian = jax.jit(jax.hessian(scalar))
timed("hessian_64", lambda: hessian(v), lambda: jnp.abs(hessian(v)).sum())
