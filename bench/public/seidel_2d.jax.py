from harness_jax import measure, noise
from jax import jit, lax


@jit
def seidel_2d(steps, a):
    n = a.shape[0]

    def row(i, a):
        above, here, below = a[i - 1], a[i], a[i + 1]
        sums = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:] + below[:-2] + below[1:-1] + below[2:]

        def element(left, sum):
            made = (sum + left) / 9.0
            return made, made

        return a.at[i, 1:-1].set(lax.scan(element, here[0], sums)[1])

    return lax.fori_loop(0, steps, lambda _, a: lax.fori_loop(1, n - 1, row, a), a)


measure("seidel_2d", seidel_2d, lambda: (4, noise(50, 50)))
