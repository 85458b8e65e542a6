import time

import torch
from torch import nn


def filled(*shape):
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(n) * 7919 % 1009).to(torch.float32) / 1009 - 0.5).reshape(shape)


def layer(n_in, n_out):
    made = nn.Linear(n_in, n_out)
    with torch.no_grad():
        made.weight.copy_(filled(n_out, n_in) * 0.1)
        made.bias.zero_()
    return made


model = nn.Sequential(layer(784, 512), nn.ReLU(), layer(512, 512), nn.ReLU(), layer(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = filled(128, 784)
y = torch.arange(128) % 10


def step():
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(20):
    loss = step()
times = []
for _ in range(100):
    started = time.perf_counter()
    loss = step()
    times.append(time.perf_counter() - started)
print("step", f"{sorted(times)[50]:.9f}", f"{loss.item():.6f}")
