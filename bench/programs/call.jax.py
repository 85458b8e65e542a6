import os
import time

import jax
import jax.numpy as jnp

n = 2000 if os.environ.get("KILN_BENCH_QUICK") else 20000


def guards(a, b, c, d, e):
    return a, b, c, d, e


def five(a, b, c, d, e):
    return a + b + c + d + e


def one(a, b, c, d, e):
    return a + b


def repeat(f, tensors, n):
    a, b, c, d, e = tensors
    for _ in range(n):
        y = f(a, b, c, d, e)
    return jax.block_until_ready(y)


def timed(name, f):
    tensors = [jnp.arange(8).astype(jnp.float32) + k for k in range(5)]
    repeat(f, tensors, n // 10)
    best = float("inf")
    for _ in range(7):
        started = time.perf_counter()
        y = repeat(f, tensors, n)
        best = min(best, (time.perf_counter() - started) / n)
    print(name, f"{best:.12f}", (y[1] if isinstance(y, tuple) else y).sum().item())


timed("plain", guards)
timed("guards", jax.jit(guards))
timed("five", jax.jit(five))
timed("one", jax.jit(one))
