import os
import time

import torch

# sequences.compile.py runs this file with what compiles in the place of what does nothing.
compiled = globals().get("compiled", lambda f: f)
runs = 5 if os.environ.get("KILN_BENCH_QUICK") else 25


def timed(name, f, check):
    for _ in range(3):
        f()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        f()
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[runs // 2]:.9f}", f"{check().item():.6f}", flush=True)


def filled(*shape):
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(n) * 7919 % 1009).to(torch.float32) / 1009 - 0.5).reshape(shape)


def with_backward(f, parameters):
    for each in parameters:
        each.grad = None
    f(*parameters).backward()


@compiled
def attended(q, k, v):
    return (((q @ k.transpose(-2, -1)) / 8).softmax(dim=-1) @ v).square().mean()


qkv = [(filled(8, 8, 256, 64) * s).requires_grad_() for s in (1.0, 2.0, 3.0)]
timed("attention", lambda: with_backward(attended, qkv), lambda: (qkv[0].grad * 1e6).abs().mean())

xs = filled(100, 1, 64)


@compiled
def lstm(w, u):
    h = torch.zeros(1, 64)
    c = torch.zeros(1, 64)
    for i in range(100):
        a, b, g, o = (xs[i] @ w + h @ u).chunk(4, dim=1)
        c = b.sigmoid() * c + a.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h.square().sum()


weights = [(filled(64, 256) * 0.4).requires_grad_() for _ in range(2)]
timed("lstm", lambda: with_backward(lstm, weights), lambda: weights[1].grad.abs().mean())
