// Error codes of gradients and graphs.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 8> kGradientsCodes{{
    {"K0800", "AutogradError", "", "a derivative that cannot be taken",
     "A gradient is asked for where there is none, in a way that has no page of its own.",
     R"(throw AutogradError("no gradient"))", "grad(x => x * x)(3.0)"},
    {"K0801", "AutogradError", "*leaf that requires grad*", "a write to a parameter",
     "A tensor that requires gradients and was made by no op keeps what its gradient is taken of. "
     "Change parameters inside `no_grad()`, as optimizers do.",
     R"(w = ones(2).requires_grad_()
w.add_(1))",
     R"(w = ones(2).requires_grad_()
with no_grad() { w.add_(1) })"},
    {"K0802", "AutogradError", "*captured from outside of grad*\n*captured from outside*",
     "a write to what a transform does not see",
     "Inside `grad` and its kin, tensors from outside are constants; a write to one would be no "
     "part of the function. Give the tensor as an argument, or write to a clone.",
     R"(total = zeros(1)
grad(x => { 0: total.add_(x).sum() }[0])(ones(1)))",
     "grad(x => (zeros(1) + x).sum())(ones(1))"},
    {"K0803", "AutogradError", "*backward*twice*\n*freed*\n*used up*\n*second time*\n*retain_graph*",
     "a second backward through the same graph",
     "`backward` frees what it used. Say `retain_graph=true` the first time, or compute the loss "
     "again.",
     R"(w = ones(1).requires_grad_()
loss = (w * w).sum()
loss.backward()
loss.backward())",
     R"(w = ones(1).requires_grad_()
loss = (w * w).sum()
loss.backward(retain_graph=true)
loss.backward())"},
    {"K0804", "AutogradError", "*does not require grad*\n*requires no grad*\n*does not require*",
     "backward where nothing is recorded",
     "No tensor that the value was computed from requires a gradient. `requires_grad_()` before "
     "computing asks for one; `no_grad()` and `detach()` take it away.",
     R"(x = ones(2)
x.sum().backward())",
     R"(x = ones(2).requires_grad_()
x.sum().backward())"},
    {"K0805", "AutogradError", "* returned * gradient* for * argument*",
     "a backward with another number of gradients",
     "`backward` of an `autograd` gives one gradient for each argument of `forward` after ctx, "
     "`none` where there is none.",
     R"(autograd Twice { fn forward(ctx, x, k) = x * k  fn backward(ctx, g) = g }
grad(x => Twice(x, 2.0))(1.0))",
     R"(autograd Twice { fn forward(ctx, x, k) = x * k  fn backward(ctx, g) = (2 * g, none) }
grad(x => Twice(x, 2.0))(1.0))"},
    {"K0806", "AutogradError", "*one element*\n*scalar*\n*needs a gradient*", "backward of many numbers",
     "`backward` starts from one number. Reduce first, `loss.sum()`, or give the gradient of each "
     "element.",
     R"(w = ones(2).requires_grad_()
(w * 2).backward())",
     R"(w = ones(2).requires_grad_()
(w * 2).sum().backward())"},
    {"K0900", "CaptureError", "", "a graph that cannot be made",
     "A graph was asked for, and the function does something that no graph has: it reads the "
     "elements of a tensor. `:breaks f(x)` tells where; `jit` compiles what it can and leaves the "
     "rest to the interpreter.",
     "graph(x => x.tolist(), ones(2))", "graph(x => x * 2, ones(2))"},
}};

}  // namespace

std::span<const ErrorCode> gradients_codes() { return kGradientsCodes; }

}  // namespace kiln::lang
