from functools import partial

import jax
import jax.numpy as jnp

import common
from common import filled_by

filled = filled_by(jnp.arange, lambda x: x.astype(jnp.float32))
timed = partial(common.timed, wait=jax.block_until_ready)


def heat_step(u):
    inside = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u.at[1:-1, 1:-1].set(inside)


heat = jax.jit(heat_step, donate_argnums=0)
field = [filled(2048, 2048)]


def next_field():
    field[0] = heat(field[0])
    return field[0]


timed("heat", next_field, lambda: jnp.abs(field[0]).mean())


@jax.jit
def iterated(zr, zi, count, cr, ci):
    for _ in range(6):
        r2, i2 = zr * zr, zi * zi
        inside = r2 + i2 <= 4.0
        zi = jnp.where(inside, 2.0 * zr * zi + ci, zi)
        zr = jnp.where(inside, r2 - i2 + cr, zr)
        count = count + inside.astype(jnp.float32)
    return zr, zi, count


def mandelbrot(cr, ci):
    zr = zi = count = jnp.zeros((1024, 1024))
    for _ in range(5):
        zr, zi, count = iterated(zr, zi, count, cr, ci)
    return count


cr = (jnp.arange(1024).astype(jnp.float32) / 1024 * 2.5 - 2.0).reshape(1, 1024)
ci = (jnp.arange(1024).astype(jnp.float32) / 1024 * 2.5 - 1.25).reshape(1024, 1)
timed("mandelbrot", lambda: mandelbrot(cr, ci), lambda: mandelbrot(cr, ci).mean())
whole = jax.jit(mandelbrot)  # all thirty steps at once
timed("mandelbrot_whole", lambda: whole(cr, ci), lambda: whole(cr, ci).mean())

x = filled(4096, 1024)
pointwise = jax.jit(lambda x: jnp.tanh(x) * jnp.exp(-x * x) + x)
timed("tanh_exp", lambda: pointwise(x), lambda: pointwise(x).mean())

h = filled(4096, 512)
w = filled(512, 1024)
b = filled(1024)
gelu_bias = jax.jit(lambda h, w, b: jax.nn.gelu(h @ w + b, approximate=False))
timed("matmul_bias_gelu", lambda: gelu_bias(h, w, b), lambda: gelu_bias(h, w, b).mean())

g = filled(4096, 1024) + 0.25
w = filled(1024) + 1


def norm(x, w, b):
    d = x - x.mean(1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b


def softmax(x):
    return jax.nn.softmax(x, 1)


def backward_of(f):
    def run(*inputs):
        y, back = jax.vjp(f, *inputs)
        return y, back(g)

    return jax.jit(run)


softmax_of, normed = jax.jit(softmax), jax.jit(norm)
timed("softmax", lambda: softmax_of(x), lambda: (softmax_of(x) * x).sum())
timed("layer_norm", lambda: normed(x, w, b), lambda: (normed(x, w, b) * x).mean())
softmax_back, norm_back = backward_of(softmax), backward_of(norm)
timed("softmax_backward", lambda: softmax_back(x), lambda: (softmax_back(x)[1][0] * g).sum())
timed("layer_norm_backward", lambda: norm_back(x, w, b), lambda: jnp.abs(norm_back(x, w, b)[1][1]).mean())

state = [
    [filled(8 * (i % 7 + 1), 16) for i in range(100)],
    [jnp.zeros((8 * (i % 7 + 1), 16)) for i in range(100)],
    [jnp.zeros((8 * (i % 7 + 1), 16)) for i in range(100)],
]
gradients = [filled(8 * (i % 7 + 1), 16) + 0.25 for i in range(100)]


def adam_step(parameters, ms, vs, gradients):
    ms = [0.9 * m + 0.1 * g for m, g in zip(ms, gradients)]
    vs = [0.999 * v + 0.001 * g * g for v, g in zip(vs, gradients)]
    parameters = [p - 0.001 * m / (jnp.sqrt(v) + 1e-8) for p, m, v in zip(parameters, ms, vs)]
    return parameters, ms, vs


adam = jax.jit(adam_step, donate_argnums=(0, 1, 2))


def next_state():
    state[:] = adam(*state, gradients)
    return state


timed("adam_100", next_state, lambda: jnp.abs(state[0][3]).mean())
