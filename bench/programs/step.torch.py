import statistics
import sys
import time

import torch
from torch import nn

COMPILED = "compile" in sys.argv


def filled(*shape):
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(n) * 7919 % 1009).to(torch.float32) / 1009 - 0.5).reshape(shape)


def parameters_of(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(filled(*p.shape) * 0.1) if p.dim() > 1 else p.zero_()
    return list(model.parameters())


def measure(name, step, *args):
    for _ in range(10):
        result = step(*args)
    times = []
    for _ in range(50):
        started = time.perf_counter()
        result = step(*args)
        times.append(time.perf_counter() - started)
    print(name, f"{statistics.median(times):.9f}", f"{result.sum().item():.6f}", flush=True)


def training(model, opt):
    def loss_of(x, y):
        return nn.functional.cross_entropy(model(x), y)

    forward = torch.compile(loss_of) if COMPILED else loss_of
    update = torch.compile(opt.step) if COMPILED else opt.step

    def step(x, y):
        opt.zero_grad()
        loss = forward(x, y)
        loss.backward()
        update()
        return loss

    return step


mlp = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
measure("mlp_sgd", training(mlp, torch.optim.SGD(parameters_of(mlp), lr=0.01)), filled(128, 784), torch.arange(128) % 10)

cnn = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10)
)
adam = torch.optim.Adam(parameters_of(cnn), lr=1e-3)
measure("cnn_adam", training(cnn, adam), filled(64, 1, 28, 28), torch.arange(64) % 10)

small = [filled(32, 32).requires_grad_() for _ in range(100)]
for p in small:
    p.grad = filled(32, 32)
adam = torch.optim.Adam(small, lr=1e-3)
update = torch.compile(adam.step) if COMPILED else adam.step


def optimizer_step():
    update()
    return small[0]


measure("adam_100", optimizer_step)
