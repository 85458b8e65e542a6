import numpy as np
from harness import measure
from numba import njit


@njit
def nussinov(s):
    n = len(s)
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                pair = 1 if i < j - 1 and s[i] + s[j] == 3 else 0
                best = max(best, table[i + 1, j], table[i + 1, j - 1] + pair)
            table[i, j] = best
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


letters = (np.arange(40) * 7919 % 1009 % 4).astype(np.int32)
measure("nussinov", nussinov, lambda: (letters,))
