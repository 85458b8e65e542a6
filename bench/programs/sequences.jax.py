import os
import time

import jax
import jax.numpy as jnp

runs = 5 if os.environ.get("KILN_BENCH_QUICK") else 25


def timed(name, f, check):
    for _ in range(3):
        jax.block_until_ready(f())
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        jax.block_until_ready(f())
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[runs // 2]:.9f}", f"{check(f()).item():.6f}", flush=True)


def filled(*shape):
    n = 1
    for s in shape:
        n *= s
    return ((jnp.arange(n) * 7919 % 1009).astype(jnp.float32) / 1009 - 0.5).reshape(shape)


def attended(q, k, v):
    return jnp.square(jax.nn.softmax((q @ jnp.swapaxes(k, -2, -1)) / 8, axis=-1) @ v).mean()


qkv = [filled(8, 8, 256, 64) * s for s in (1.0, 2.0, 3.0)]
attention = jax.jit(jax.value_and_grad(attended, argnums=(0, 1, 2)))
timed("attention", lambda: attention(*qkv)[1], lambda grads: jnp.abs(grads[0] * 1e6).mean())

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
timed("lstm", lambda: lstm(*weights)[1], lambda grads: jnp.abs(grads[1]).mean())
