import torch
import torch.nn.functional as F

from common import filled_by, timed

# kernels.compile.py runs this file with what compiles in the place of what does nothing.
compiled = globals().get("compiled", lambda f: f)

filled = filled_by(torch.arange, lambda x: x.to(torch.float32))


@compiled
def heat(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


u = filled(2048, 2048)
timed("heat", lambda: heat(u), lambda: u.abs().mean())


@compiled
def iterated(zr, zi, count, cr, ci):
    for _ in range(6):
        r2, i2 = zr * zr, zi * zi
        inside = r2 + i2 <= 4.0
        zi = torch.where(inside, 2.0 * zr * zi + ci, zi)
        zr = torch.where(inside, r2 - i2 + cr, zr)
        count = count + inside.to(torch.float32)
    return zr, zi, count


def mandelbrot(cr, ci):
    zr = torch.zeros(1024, 1024)
    zi = torch.zeros(1024, 1024)
    count = torch.zeros(1024, 1024)
    for _ in range(5):
        zr, zi, count = iterated(zr, zi, count, cr, ci)
    return count


cr = (torch.arange(1024).to(torch.float32) / 1024 * 2.5 - 2.0).reshape(1, 1024)
ci = (torch.arange(1024).to(torch.float32) / 1024 * 2.5 - 1.25).reshape(1024, 1)
timed("mandelbrot", lambda: mandelbrot(cr, ci), lambda: mandelbrot(cr, ci).mean())
whole = compiled(mandelbrot)  # all thirty steps at once
timed("mandelbrot_whole", lambda: whole(cr, ci), lambda: whole(cr, ci).mean())

x = filled(4096, 1024)


@compiled
def pointwise(x):
    return torch.tanh(x) * torch.exp(-x * x) + x


timed("tanh_exp", lambda: pointwise(x), lambda: pointwise(x).mean())

h = filled(4096, 512)
w = filled(512, 1024)
b = filled(1024)


@compiled
def gelu_bias(h, w, b):
    return F.gelu(h @ w + b)


timed("matmul_bias_gelu", lambda: gelu_bias(h, w, b), lambda: gelu_bias(h, w, b).mean())

g = filled(4096, 1024) + 0.25
w = filled(1024) + 1


@compiled
def softmax_of(x):
    return F.softmax(x, 1)


@compiled
def normed(x, w, b):
    return F.layer_norm(x, [1024], w, b)


timed("softmax", lambda: softmax_of(x), lambda: (softmax_of(x) * x).sum())
timed("layer_norm", lambda: normed(x, w, b), lambda: (normed(x, w, b) * x).mean())
for each in [x, w, b]:
    each.requires_grad_()


def with_backward(f, parameters):
    for each in parameters:
        each.grad = None
    f().backward(g)


timed("softmax_backward", lambda: with_backward(lambda: softmax_of(x), [x]), lambda: (x.grad * g).sum())
timed(
    "layer_norm_backward", lambda: with_backward(lambda: normed(x, w, b), [x, w, b]), lambda: w.grad.abs().mean()
)

parameters = [filled(8 * (i % 7 + 1), 16) for i in range(100)]
gradients = [filled(8 * (i % 7 + 1), 16) + 0.25 for i in range(100)]
ms = [torch.zeros_like(p) for p in parameters]
vs = [torch.zeros_like(p) for p in parameters]


@compiled
def adam(parameters, gradients, ms, vs):
    for p, g, m, v in zip(parameters, gradients, ms, vs):
        m.mul_(0.9).add_(0.1 * g)
        v.mul_(0.999).add_(0.001 * g * g)
        p.sub_(0.001 * m / (torch.sqrt(v) + 1e-8))


timed("adam_100", lambda: adam(parameters, gradients, ms, vs), lambda: parameters[3].abs().mean())
