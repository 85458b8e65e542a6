import jax.numpy as jnp
import numpy as np
from harness_jax import measure
from jax import jit, lax


@jit
def crc16(data, polynomial=0x8408):
    def byte(crc, b):
        def bit(_, carried):
            crc, current = carried
            odd = (crc & 1) ^ (current & 1)
            return jnp.where(odd == 1, (crc >> 1) ^ polynomial, crc >> 1), current >> 1

        return lax.fori_loop(0, 8, bit, (crc, 0xFF & b))[0], None

    crc, _ = lax.scan(byte, jnp.int64(0xFFFF), data)
    crc = ~crc & 0xFFFF
    return (crc << 8) | ((crc >> 8) & 0xFF)


data = np.arange(1600) * 7919 % 1009 % 256
measure("crc16", crc16, lambda: (data,))
