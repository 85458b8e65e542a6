import math
import time

import torch
import torch.nn.functional as F


def filled(*shape):
    n = math.prod(shape)
    return ((torch.arange(n) * 7919 % 1009).to(torch.float32) / 1009 - 0.5).reshape(shape).requires_grad_()


def measure(name, inputs, f):
    upstream = torch.ones_like(f())
    times = []
    for _ in range(9):
        for x in inputs:
            x.grad = None
        started = time.perf_counter()
        f().backward(upstream)
        times.append(time.perf_counter() - started)
    print(name, f"{sorted(times)[4]:.9f}", f"{inputs[-1].grad.abs().mean().item():.6g}")


x1, w1 = filled(64, 1, 28, 28), filled(32, 1, 3, 3)
measure("conv_1_32_of_28", [x1, w1], lambda: F.conv2d(x1, w1, padding=1))
x2, w2 = filled(64, 32, 28, 28), filled(64, 32, 3, 3)
measure("conv_32_64_of_28", [x2, w2], lambda: F.conv2d(x2, w2, padding=1))
x3, w3, w4 = filled(8, 64, 56, 56), filled(64, 64, 3, 3), filled(64, 1, 3, 3)
measure("conv_64_64_of_56", [x3, w3], lambda: F.conv2d(x3, w3, padding=1))
measure("depthwise_64_of_56", [x3, w4], lambda: F.conv2d(x3, w4, padding=1, groups=64))
measure("max_pool", [x2], lambda: F.max_pool2d(x2, 2))
measure("avg_pool", [x2], lambda: F.avg_pool2d(x2, 2))
x5, w5, b5 = filled(4096, 1024), filled(1024), filled(1024)
measure("softmax", [x5], lambda: F.softmax(x5 * 3, -1))
measure("layer_norm", [x5, w5, b5], lambda: F.layer_norm(x5, (1024,), w5, b5))
measure("batch_norm", [x5, w5, b5], lambda: F.batch_norm(x5, None, None, w5, b5, training=True))
w6, b6 = filled(32), filled(32)
measure("batch_norm_2d", [x2, w6, b6], lambda: F.batch_norm(x2, None, None, w6, b6, training=True))
measure("group_norm", [x2, w6, b6], lambda: F.group_norm(x2, 8, w6, b6))
q, k, v = filled(8, 8, 256, 64), filled(8, 8, 256, 64), filled(8, 8, 256, 64)
measure("attention", [q, k, v], lambda: F.scaled_dot_product_attention(q, k, v))
measure("attention_causal", [q, k, v], lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
measure("adaptive_avg_pool", [x2], lambda: F.adaptive_avg_pool2d(x2, (7, 7)))
measure("adaptive_max_pool", [x2], lambda: F.adaptive_max_pool2d(x2, (7, 7)))
measure("rms_norm", [x5, w5], lambda: F.rms_norm(x5, (1024,), w5))
mean, variance = torch.zeros(32), torch.ones(32)
measure("batch_norm_eval", [x2, w6, b6], lambda: F.batch_norm(x2, mean, variance, w6, b6))
x7 = filled(1, 32, 256, 256)
w7 = filled(32, 32, 3, 3)
measure("conv_one_image", [x7, w7], lambda: F.conv2d(x7, w7, padding=1))
measure("conv_transpose", [x2, w7], lambda: F.conv_transpose2d(x2, w7, stride=2))
half, halves = x2.detach().to(torch.bfloat16).requires_grad_(), w2.detach().to(torch.bfloat16).requires_grad_()
measure("conv_bf16", [half, halves], lambda: F.conv2d(half, halves, padding=1))
table, tokens = filled(16384, 256), torch.arange(16384) * 77 % 16384
measure("embedding", [table], lambda: F.embedding(tokens, table))
targets = torch.arange(4096) * 31 % 1024
measure("cross_entropy", [x5], lambda: F.cross_entropy(x5, targets))
