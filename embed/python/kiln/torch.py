"""Functions of Kiln as functions of PyTorch, with the gradients that Kiln has for them."""
import torch
from torch.utils.dlpack import from_dlpack

from ._values import Tensor


def _given(tensor):
    return tensor.detach().contiguous() if isinstance(tensor, torch.Tensor) else tensor


def _taken(results):
    """Tensors of PyTorch over the same memory, and whether there are several."""
    if isinstance(results, Tensor):
        return (from_dlpack(results.detach()),), False
    return tuple(from_dlpack(each.detach()) for each in results), True


class _Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, *tensors):
        session = function._session
        results, ctx.pullback = session.vjp(function, *[_given(each) for each in tensors])
        made, ctx.has_several = _taken(results)
        return made if ctx.has_several else made[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *cotangents):
        given = tuple(_given(each) for each in cotangents)
        gradients = ctx.pullback(given if ctx.has_several else given[0])
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return (None, *_taken(gradients)[0])


def wrap(function):
    """The function of PyTorch that a function of Kiln is: it takes tensors of floats, and gives one or a tuple of them.
    Elements are shared. Gradients of gradients are refused."""

    def call(*tensors):
        if any(each.requires_grad for each in tensors) and torch.is_grad_enabled():
            return _Applied.apply(function, *tensors)
        made, has_several = _taken(function(*[_given(each) for each in tensors]))
        return made if has_several else made[0]

    return call
