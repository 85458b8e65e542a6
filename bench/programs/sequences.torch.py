import torch

from common import filled_by, timed

filled = filled_by(torch.arange, lambda x: x.to(torch.float32))


def with_backward(f, parameters):
    for each in parameters:
        each.grad = None
    f(*parameters).backward()


def attended(q, k, v):
    return (((q @ k.transpose(-2, -1)) / 8).softmax(dim=-1) @ v).square().mean()


qkv = [(filled(8, 8, 256, 64) * s).requires_grad_() for s in (1.0, 2.0, 3.0)]
timed("attention", lambda: with_backward(attended, qkv), lambda: (qkv[0].grad * 1e6).abs().mean())

xs = filled(100, 1, 64)


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
