import time

import jax
import jax.numpy as jnp


def ops(x, w, trips):
    for _ in range(trips):
        x = jnp.tanh(x * w + 1) - w
    return x


def timed(name, trips):
    x = jnp.arange(8).astype(jnp.float32)
    best = float("inf")
    for _ in range(10):
        started = time.perf_counter()
        captured = jax.make_jaxpr(lambda x, w: ops(x, w, trips))(x, x)
        best = min(best, time.perf_counter() - started)
    print(name, f"{best:.12f}", 4 * trips)


timed("ops_100", 25)
timed("ops_52", 13)
