"""What the JAX forms share: 64 bits as elsewhere here, one thread, and arguments that are JAX's arrays before time is taken."""
import os

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX makes a thread for each processor

import harness
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
noise = harness.noise


def to_jax(value):
    return jnp.asarray(value) if isinstance(value, np.ndarray) else value


def measure(name, kernel, inputs):
    def arguments():
        return jax.block_until_ready([to_jax(value) for value in inputs()])

    harness.measure(name, lambda *given: jax.block_until_ready(kernel(*given)), arguments)
