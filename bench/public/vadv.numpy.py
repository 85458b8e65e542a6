from harness import measure, noise
import numpy as np


def vadv(stage, wcon, position):
    depth = position.shape[2]
    c, d, out = np.empty_like(position), np.empty_like(position), np.empty_like(position)
    nothing = np.zeros_like(position[:, :, 0])
    for k in range(depth):
        below = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k]) if k > 0 else nothing
        above = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1]) if k < depth - 1 else nothing
        middle = 3.0 - below - above
        right = 3.0 * position[:, :, k] + stage[:, :, k]
        if k > 0:
            right -= below * (stage[:, :, k] - stage[:, :, k - 1])
        if k < depth - 1:
            right -= above * (stage[:, :, k + 1] - stage[:, :, k])
        if k == 0:
            c[:, :, 0] = above / middle
            d[:, :, 0] = right / middle
        else:
            divided = 1.0 / (middle - c[:, :, k - 1] * below)
            c[:, :, k] = above * divided
            d[:, :, k] = (right - d[:, :, k - 1] * below) * divided
    column = d[:, :, depth - 1]
    out[:, :, depth - 1] = 3.0 * (column - position[:, :, depth - 1])
    for k in range(depth - 2, -1, -1):
        column = d[:, :, k] - c[:, :, k] * column
        out[:, :, k] = 3.0 * (column - position[:, :, k])
    return out


measure("vadv", vadv, lambda: (noise(50, 50, 60), noise(51, 50, 60), noise(50, 50, 60)))
