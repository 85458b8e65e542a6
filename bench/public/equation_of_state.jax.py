from harness_jax import measure, noise
from jax import jit
import jax.numpy as jnp


@jit
def equation_of_state(salt, heat, pressure):
    s = jnp.sqrt(salt)
    surface = 999.842594 + heat * (6.793952e-2 + heat * (-9.095290e-3 + heat * (1.001685e-4 + heat * (-1.120083e-6 + heat * 6.536332e-9))))
    fresh = 0.824493 + heat * (-4.0899e-3 + heat * (7.6438e-5 + heat * (-8.2467e-7 + heat * 5.3875e-9)))
    mixed = -5.72466e-3 + heat * (1.0227e-4 - heat * 1.6546e-6)
    density = surface + salt * (fresh + s * mixed + salt * 4.8314e-4)
    bulk = 19652.21 + heat * (148.4206 + heat * (-2.327105 + heat * (1.360477e-2 - heat * 5.155288e-5)))
    bulk += salt * (54.6746 + heat * (-0.603459 + heat * (1.09987e-2 - heat * 6.1670e-5)) + s * (7.944e-2 + heat * (1.6483e-2 - heat * 5.3009e-4)))
    bulk += pressure * (3.239908 + heat * (1.43713e-3 + heat * (1.16092e-4 - heat * 5.77905e-7)) + salt * (2.2838e-3 - heat * (1.0981e-5 + heat * 1.6078e-6) + s * 1.91075e-4))
    bulk += pressure * pressure * (8.50935e-5 + heat * (-6.12293e-6 + heat * 5.2787e-8) + salt * (-9.9348e-7 + heat * (2.0816e-8 + heat * 9.1697e-10)))
    return density / (1.0 - pressure / bulk)


def inputs():
    return noise(48, 40, 20) * 40, noise(48, 40, 20) * 30, noise(48, 40, 20) * 1000


measure("equation_of_state", equation_of_state, inputs)
