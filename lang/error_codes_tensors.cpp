// Error codes of shapes, dtypes and devices.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 16> kTensorsCodes{{
    {"K0500", "ShapeError", "", "sizes that do not go together",
     "Sizes of tensors do not fit, in a way that has no page of its own. `x.shape` shows them.",
     R"(throw ShapeError("batches differ"))", "zeros(2, 3).shape"},
    {"K0501", "ShapeError", "cannot multiply *: inner sizes * and * differ*\ncannot multiply *: batch sizes*",
     "a product whose inner sizes differ",
     "In `a @ b` the last size of a and the last but one of b are the same: [n, k] @ [k, m] is [n, "
     "m]. A transposition is `b.t()`, or `b.transpose(-2, -1)` with a batch.",
     R"(x = zeros(32, 784)
w = zeros(10, 784)
x @ w)",
     R"(x = zeros(32, 784)
w = zeros(10, 784)
x @ w.t())"},
    {"K0502", "ShapeError", "*shapes * and * do not broadcast*\n*do not broadcast*\n*does not broadcast*",
     "shapes that do not broadcast",
     "Shapes are compared from their last size on; two sizes fit when they are equal or one of "
     "them is 1. `unsqueeze(dim)` or `x[:, none]` adds a size of 1.",
     "zeros(3, 4) + zeros(3)", "zeros(3, 4) + zeros(3)[:, none]"},
    {"K0503", "ShapeError", "*which cannot be written into*",
     "a result that does not fit where it is written",
     "An op that ends in `_`, and `+=`, write into the tensor, which keeps its shape. Without them "
     "a new tensor is made.",
     R"(x = zeros(3)
x += zeros(2, 3))",
     R"(x = zeros(3)
x = x + zeros(2, 3))"},
    {"K0504", "ShapeError", "parameter `*` of * must be *, got *\nthe result of * must be *, gave*",
     "a tensor that its annotation does not allow",
     "In `x: f32[b, d]` each name is a size, the same wherever it stands in the signature, and "
     "known inside as an int.",
     R"(fn f(a: f32[n], b: f32[n]) = a + b
f(zeros(2), zeros(3)))",
     R"(fn f(a: f32[n], b: f32[n]) = a + b
f(zeros(2), zeros(2)))"},
    {"K0505", "ShapeError", "*do not fill*\n*does not fill*\n* has no view of shape*",
     "another number of elements",
     "A reshape keeps the number of elements; one size may be -1 and is worked out.",
     "arange(6).reshape(4, 2)", "arange(6).reshape(3, -1)"},
    {"K0506", "ShapeError", "cat: *\nstack: *", "tensors that cannot be joined",
     "`cat` joins along a dimension that is there, and all other sizes must be equal; `stack` adds "
     "a dimension and needs equal shapes.",
     "stack([zeros(2), zeros(3)])", "cat([zeros(2), zeros(3)])"},
    {"K0507", "ShapeError", "tensor: row * has *", "rows of different lengths",
     "The lists that a tensor is made of have equal lengths at each level.", "tensor([[1, 2], [3]])",
     "tensor([[1, 2], [3, 4]])"},
    {"K0508", "ShapeError", "* has * features but the weight *\n* has * channels and the weight *",
     "a layer for another number of features",
     "A layer is made for a number of features or channels, and the input has another. The last "
     "size of the input of `Linear`, and the second of that of a convolution, is what it takes.",
     R"(import nn
nn.Linear(3, 4)(zeros(2, 5)))",
     R"(import nn
nn.Linear(5, 4)(zeros(2, 5)))"},
    {"K0600", "DTypeError", "", "an element type that does not fit",
     "The dtype of a tensor does not fit, in a way that has no page of its own. `x.to(f32)` "
     "converts.",
     R"(throw DTypeError("give floats"))", "arange(3).to(f32)"},
    {"K0601", "DTypeError", "*which cannot be written into*\n*cannot be written*",
     "a result that does not fit the dtype where it is written",
     "An op in place keeps the tensor's dtype; floats do not go into ints by themselves.",
     R"(x = tensor([1, 2])
x += 0.5)",
     R"(x = tensor([1.0, 2.0])
x += 0.5)"},
    {"K0602", "DTypeError",
     "*needs floats*\n* needs float elements*\n*only floats*\n*must be float*\n*floating*\n*integers have "
     "no*\n*takes floats*",
     "an op for floats", "The op has no meaning for ints or bools. `x.float()` makes floats of them.",
     "arange(3).mean()", "arange(3).float().mean()"},
    {"K0603", "DTypeError", "*must be bool*\n*a mask*", "a mask that is no bool",
     "A mask is a tensor of bools, as a comparison gives: `x != 0`.",
     "zeros(2).masked_fill(tensor([1, 0]), 1.0)", "zeros(2).masked_fill(tensor([1, 0]) != 0, 1.0)"},
    {"K0604", "DTypeError",
     "tensor: * is complex, and the elements are *\n*has two parts for each element*\n*takes real numbers, "
     "got a c*",
     "complex elements where real ones are needed",
     "A complex number has two parts, and real elements hold one. `z.real()`, `z.imag()` and `abs(z)` are "
     "real "
     "tensors.",
     "tensor([2j], dtype=f32)", "tensor([2j])"},
    {"K0700", "DeviceError", "", "a device that does not fit or is not there",
     "Operands are on one device each; `x.to(\"cpu\")` moves a tensor. `:devices` shows what was "
     "found.",
     R"(zeros(2, device="cuda:99"))", R"(zeros(2, device="cpu"))"},
    {"K0701", "DeviceError", "unknown device*", "a device of an unknown name",
     "Devices are \"cpu\", \"cuda\" and, where there are several cards, \"cuda:1\" and so on.",
     R"(zeros(2).to("gpu"))", R"(zeros(2).to("cpu"))"},
}};

}  // namespace

std::span<const ErrorCode> tensors_codes() { return kTensorsCodes; }

}  // namespace kiln::lang
