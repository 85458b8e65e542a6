from harness_jax import measure, noise
from jax import jit
import jax.numpy as jnp


@jit
def hdiff(field, coefficient):
    around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    laplacian = 4.0 * field[1:-1, 1:-1] - around
    step = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    along = jnp.where(step * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, step)
    step = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    across = jnp.where(step * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, step)
    flux = along[1:] - along[:-1] + across[:, 1:] - across[:, :-1]
    return field[2:-2, 2:-2] - coefficient * flux


measure("hdiff", hdiff, lambda: (noise(68, 68, 40), noise(64, 64, 40)))
