import torch
from harness_torch import measure, noise


def acceleration(mass, p, softening):
    d = p[None] - p[:, None]
    inverse = ((d * d).sum(2) + softening**2) ** -1.5
    return (d * inverse[:, :, None] * mass.reshape(1, -1, 1)).sum(1)


def energy(mass, p, v, softening):
    kinetic = 0.5 * (mass * (v * v).sum(1)).sum()
    d = p[None] - p[:, None]
    distance = torch.sqrt((d * d).sum(2) + softening**2)
    return kinetic - 0.5 * (torch.outer(mass, mass) / distance).sum()


@torch.compile
def step(mass, p, v, a, dt):
    v = v + a * dt / 2.0
    p = p + v * dt
    a = acceleration(mass, p, 0.1)
    v = v + a * dt / 2.0
    return p, v, a, energy(mass, p, v, 0.1)


def nbody(mass, p, v, steps, dt):
    v -= (mass[:, None] * v).mean(0) / mass.mean()
    a = acceleration(mass, p, 0.1)
    energies = torch.zeros(steps, dtype=torch.float64)
    for i in range(steps):
        p, v, a, energies[i] = step(mass, p, v, a, dt)
    return energies


measure("nbody", nbody, lambda: (noise(25), noise(25, 3), noise(25, 3) * 0.5, 100, 0.01))
