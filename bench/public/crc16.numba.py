import numpy as np
from harness import measure
from numba import njit


@njit
def crc16(data, polynomial):
    crc = 0xFFFF
    for b in data:
        current = 0xFF & b
        for _ in range(8):
            crc = (crc >> 1) ^ polynomial if (crc & 1) ^ (current & 1) else crc >> 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return (crc << 8) | ((crc >> 8) & 0xFF)


data = np.arange(1600) * 7919 % 1009 % 256
measure("crc16", crc16, lambda: (data, 0x8408))
