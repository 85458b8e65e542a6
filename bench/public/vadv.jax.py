import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


@jit
def vadv(stage, wcon, position):
    depth = position.shape[2]

    def parts(k, below, above):
        right = 3.0 * position[:, :, k] + stage[:, :, k]
        return 3.0 - below - above, right

    def above_of(k):
        return 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])

    def below_of(k):
        return -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])

    def down(k, carried):
        c, d = carried
        below, above = below_of(k), above_of(k)
        middle, right = parts(k, below, above)
        right -= below * (stage[:, :, k] - stage[:, :, k - 1])
        right -= above * (stage[:, :, k + 1] - stage[:, :, k])
        divided = 1.0 / (middle - c[:, :, k - 1] * below)
        d = d.at[:, :, k].set((right - d[:, :, k - 1] * below) * divided)
        return c.at[:, :, k].set(above * divided), d

    above = above_of(0)
    middle, right = parts(0, 0.0, above)
    right -= above * (stage[:, :, 1] - stage[:, :, 0])
    c = jnp.zeros_like(position).at[:, :, 0].set(above / middle)
    d = jnp.zeros_like(position).at[:, :, 0].set(right / middle)
    c, d = lax.fori_loop(1, depth - 1, down, (c, d))
    last = depth - 1
    below = below_of(last)
    middle, right = parts(last, below, 0.0)
    right -= below * (stage[:, :, last] - stage[:, :, last - 1])
    column = (right - d[:, :, last - 1] * below) / (middle - c[:, :, last - 1] * below)
    out = jnp.zeros_like(position).at[:, :, last].set(3.0 * (column - position[:, :, last]))

    def up(i, carried):
        column, out = carried
        k = depth - 2 - i
        column = d[:, :, k] - c[:, :, k] * column
        return column, out.at[:, :, k].set(3.0 * (column - position[:, :, k]))

    return lax.fori_loop(0, depth - 1, up, (column, out))[1]


measure("vadv", vadv, lambda: (noise(50, 50, 60), noise(51, 50, 60), noise(50, 50, 60)))
