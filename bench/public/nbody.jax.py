from functools import partial

import jax.numpy as jnp
from harness_jax import measure, noise
from jax import jit, lax


def acceleration(mass, p, softening):
    d = p[None] - p[:, None]
    inverse = ((d * d).sum(2) + softening**2) ** -1.5
    return (d * inverse[:, :, None] * mass.reshape(1, -1, 1)).sum(1)


def energy(mass, p, v, softening):
    kinetic = 0.5 * (mass * (v * v).sum(1)).sum()
    d = p[None] - p[:, None]
    distance = jnp.sqrt((d * d).sum(2) + softening**2)
    return kinetic - 0.5 * (jnp.outer(mass, mass) / distance).sum()


@partial(jit, static_argnums=3)
def nbody(mass, p, v, steps, dt):
    v = v - (mass[:, None] * v).mean(0) / mass.mean()

    def step(carried, _):
        p, v, a = carried
        v = v + a * dt / 2.0
        p = p + v * dt
        a = acceleration(mass, p, 0.1)
        v = v + a * dt / 2.0
        return (p, v, a), energy(mass, p, v, 0.1)

    return lax.scan(step, (p, v, acceleration(mass, p, 0.1)), None, length=steps)[1]


measure("nbody", nbody, lambda: (noise(25), noise(25, 3), noise(25, 3) * 0.5, 100, 0.01))
