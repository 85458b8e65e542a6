import numpy as np
from harness_jax import measure, noise
from jax import jit, lax


@jit
def fdtd_2d(ex, ey, hz, source):
    def step(carried, value):
        ex, ey, hz = carried
        ey = ey.at[0].set(value)
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), source)[0][2]


source = np.arange(40.0)
measure("fdtd_2d", fdtd_2d, lambda: (noise(120, 150), noise(120, 150) * 0.9, noise(120, 150) * 0.8, source))
