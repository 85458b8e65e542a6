from harness_jax import measure, noise
from jax import jit, lax


def sweep(a):
    middle = 2.0 * a[1:-1, 1:-1, 1:-1]
    first = 0.125 * (a[2:, 1:-1, 1:-1] - middle + a[:-2, 1:-1, 1:-1])
    second = 0.125 * (a[1:-1, 2:, 1:-1] - middle + a[1:-1, :-2, 1:-1])
    third = 0.125 * (a[1:-1, 1:-1, 2:] - middle + a[1:-1, 1:-1, :-2])
    return first + second + third + a[1:-1, 1:-1, 1:-1]


@jit
def heat_3d(steps, a, b):
    def step(_, carried):
        a, b = carried
        b = b.at[1:-1, 1:-1, 1:-1].set(sweep(a))
        return a.at[1:-1, 1:-1, 1:-1].set(sweep(b)), b

    return lax.fori_loop(0, steps, step, (a, b))[0]


measure("heat_3d", heat_3d, lambda: (20, noise(25, 25, 25), noise(25, 25, 25)))
