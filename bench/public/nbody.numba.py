import numpy as np
from harness import measure, noise
from numba import njit


@njit
def acceleration(mass, p, softening):
    n = mass.shape[0]
    a = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            d = p[j] - p[i]
            a[i] += d * ((d * d).sum() + softening**2) ** -1.5 * mass[j]
    return a


@njit
def energy(mass, p, v, softening):
    total = 0.0
    for i in range(mass.shape[0]):
        total += 0.5 * mass[i] * (v[i] * v[i]).sum()
        for j in range(mass.shape[0]):
            d = p[j] - p[i]
            total -= 0.5 * mass[i] * mass[j] / np.sqrt((d * d).sum() + softening**2)
    return total


@njit
def nbody(mass, p, v, steps, dt):
    for k in range(3):
        v[:, k] -= (mass * v[:, k]).mean() / mass.mean()
    a = acceleration(mass, p, 0.1)
    energies = np.zeros(steps)
    for i in range(steps):
        v += a * dt / 2.0
        p += v * dt
        a = acceleration(mass, p, 0.1)
        v += a * dt / 2.0
        energies[i] = energy(mass, p, v, 0.1)
    return energies


measure("nbody", nbody, lambda: (noise(25), noise(25, 3), noise(25, 3) * 0.5, 100, 0.01))
