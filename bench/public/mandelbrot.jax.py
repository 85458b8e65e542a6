from functools import partial

import jax.numpy as jnp
from harness_jax import measure
from jax import jit, lax


@partial(jit, static_argnums=(1, 2))
def mandelbrot(steps, nx, ny):
    re, im = jnp.meshgrid(jnp.linspace(-2.25, 0.75, nx), jnp.linspace(-1.25, 1.25, ny))

    def step(k, carried):
        zr, zi, count = carried
        inside = zr * zr + zi * zi < 4.0
        zr, zi = jnp.where(inside, zr * zr - zi * zi + re, zr), jnp.where(inside, 2.0 * zr * zi + im, zi)
        return zr, zi, jnp.where(inside, k, count)

    start = jnp.zeros_like(re), jnp.zeros_like(re), jnp.zeros((ny, nx), jnp.int64)
    return lax.fori_loop(0, steps, step, start)[2]


measure("mandelbrot", mandelbrot, lambda: (40, 120, 100))
