import numpy as np
from harness import measure, noise
from numba import njit


@njit
def vadv(stage, wcon, position):
    rows, columns, depth = position.shape
    c, d, out = np.empty_like(position), np.empty_like(position), np.empty_like(position)
    for i in range(rows):
        for j in range(columns):
            for k in range(depth):
                below = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k]) if k > 0 else 0.0
                above = 0.25 * (wcon[i + 1, j, k + 1] + wcon[i, j, k + 1]) if k < depth - 1 else 0.0
                middle = 3.0 - below - above
                right = 3.0 * position[i, j, k] + stage[i, j, k]
                if k > 0:
                    right -= below * (stage[i, j, k] - stage[i, j, k - 1])
                if k < depth - 1:
                    right -= above * (stage[i, j, k + 1] - stage[i, j, k])
                if k == 0:
                    c[i, j, 0] = above / middle
                    d[i, j, 0] = right / middle
                else:
                    divided = 1.0 / (middle - c[i, j, k - 1] * below)
                    c[i, j, k] = above * divided
                    d[i, j, k] = (right - d[i, j, k - 1] * below) * divided
            column = d[i, j, depth - 1]
            out[i, j, depth - 1] = 3.0 * (column - position[i, j, depth - 1])
            for k in range(depth - 2, -1, -1):
                column = d[i, j, k] - c[i, j, k] * column
                out[i, j, k] = 3.0 * (column - position[i, j, k])
    return out


measure("vadv", vadv, lambda: (noise(50, 50, 60), noise(51, 50, 60), noise(50, 50, 60)))
