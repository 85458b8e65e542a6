from functools import partial

import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@partial(jit, static_argnums=0)
def adi(steps, u):
    n = u.shape[0]
    dx, dt = 1.0 / n, 1.0 / steps
    mul1, mul2 = 2.0 * dt / dx**2, dt / dx**2
    a, b, d, e = -mul1 / 2.0, 1.0 + mul1, -mul2 / 2.0, 1.0 + mul2
    c, f = a, d

    def columns(j, carried):
        u, p, q = carried
        below = a * p[1:-1, j - 1] + b
        right = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]
        return u, p.at[1:-1, j].set(-c / below), q.at[1:-1, j].set(right / below)

    def columns_back(k, carried):
        v, p, q = carried
        j = n - 2 - k
        return v.at[j, 1:-1].set(p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]), p, q

    def rows(j, carried):
        v, p, q = carried
        below = d * p[1:-1, j - 1] + e
        right = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]
        return v, p.at[1:-1, j].set(-f / below), q.at[1:-1, j].set(right / below)

    def rows_back(k, carried):
        u, p, q = carried
        j = n - 2 - k
        return u.at[1:-1, j].set(p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]), p, q

    def step(_, carried):
        u, v, p, q = carried
        v = v.at[0, 1:-1].set(1.0)
        p = p.at[1:-1, 0].set(0.0)
        q = q.at[1:-1, 0].set(v[0, 1:-1])
        _, p, q = lax.fori_loop(1, n - 1, columns, (u, p, q))
        v = v.at[-1, 1:-1].set(1.0)
        v, p, q = lax.fori_loop(0, n - 2, columns_back, (v, p, q))
        u = u.at[1:-1, 0].set(1.0)
        p = p.at[1:-1, 0].set(0.0)
        q = q.at[1:-1, 0].set(u[1:-1, 0])
        _, p, q = lax.fori_loop(1, n - 1, rows, (v, p, q))
        u = u.at[1:-1, -1].set(1.0)
        u, p, q = lax.fori_loop(0, n - 2, rows_back, (u, p, q))
        return u, v, p, q

    return lax.fori_loop(0, steps, step, (u, jnp.zeros_like(u), jnp.zeros_like(u), jnp.zeros_like(u)))[0]


measure("adi", adi, lambda: (5, noise(100, 100)))
