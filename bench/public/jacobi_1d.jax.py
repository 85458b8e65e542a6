from harness_jax import measure, noise
from jax import jit, lax


@jit
def jacobi_1d(steps, a, b):
    def step(_, carried):
        a, b = carried
        b = b.at[1:-1].set(0.33333 * (a[:-2] + a[1:-1] + a[2:]))
        return a.at[1:-1].set(0.33333 * (b[:-2] + b[1:-1] + b[2:])), b

    return lax.fori_loop(0, steps, step, (a, b))[0]


measure("jacobi_1d", jacobi_1d, lambda: (400, noise(3200), noise(3200)))
