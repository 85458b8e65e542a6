import numpy as np
from harness import measure, noise
from numba import njit


@njit
def deriche(alpha, image):
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * np.exp(-alpha) * (alpha + 1.0), -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -np.exp(-2.0 * alpha)
    w, h = image.shape
    down, up = np.empty_like(image), np.empty_like(image)
    down[:, 0] = a1 * image[:, 0]
    down[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * down[:, 0]
    for j in range(2, h):
        down[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * down[:, j - 1] + b2 * down[:, j - 2]
    up[:, -1] = 0.0
    up[:, -2] = a3 * image[:, -1]
    for j in range(h - 3, -1, -1):
        up[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * up[:, j + 1] + b2 * up[:, j + 2]
    out = down + up
    down[0] = a1 * out[0]
    down[1] = a1 * out[1] + a2 * out[0] + b1 * down[0]
    for i in range(2, w):
        down[i] = a1 * out[i] + a2 * out[i - 1] + b1 * down[i - 1] + b2 * down[i - 2]
    up[-1] = 0.0
    up[-2] = a3 * out[-1]
    for i in range(w - 3, -1, -1):
        up[i] = a3 * out[i + 1] + a4 * out[i + 2] + b1 * up[i + 1] + b2 * up[i + 2]
    return down + up


measure("deriche", deriche, lambda: (0.25, noise(200, 160)))
