// Methods of all structs: moving what is in them to another device, or to another dtype.
#include <fmt/format.h>

#include <optional>
#include <unordered_set>
#include <vector>

#include "interpreter/host/pytree.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tensor/view.h"

namespace kiln::interp {
namespace {

using namespace host;
using kiln::Tensor;
using Args = std::span<Value>;

// A tensor, and what it becomes a tensor of.
struct Move {
  Tensor x, moved, grad;
};

// Where tensors go: an absent part stays as it is. Tensors of ints and bools, as counts, keep their dtype.
// Complex ones become those whose parts have it.
struct Destination {
  std::optional<kiln::Device> device;
  std::optional<kiln::DType> dtype;

  kiln::Device device_of(const Tensor& x) const { return device.value_or(x.device()); }
  kiln::DType dtype_of(const Tensor& x) const {
    if (kiln::is_complex(x.dtype())) return dtype ? kiln::complex_of(*dtype) : x.dtype();
    return kiln::is_float(x.dtype()) ? dtype.value_or(x.dtype()) : x.dtype();
  }
  bool holds(const Tensor& x) const { return device_of(x) == x.device() && dtype_of(x) == x.dtype(); }
  Tensor moved(const Tensor& x) const { return kiln::ops::to(kiln::ops::to(x, dtype_of(x)), device_of(x)); }
};

void check_movable(const Tensor& x, const std::string& path) {
  if (kiln::is_leaf(x)) return;
  raise("ValueError",
        fmt::format("to: {} is a result of {}, which cannot be moved in place", path, kiln::grad_fn_name(x)),
        "keep the tensor that it was made of, or detach it first");
}

// Those of `tree` that are elsewhere, each once.
std::vector<Move> moves_to(const Value& tree, const Destination& destination) {
  std::vector<Move> moves;
  std::unordered_set<const kiln::TensorImpl*> seen;
  each_leaf(tree, [&](const Value& leaf, const std::string& path) {
    if (!leaf.is(Tag::Tensor)) return;
    const Tensor x = leaf.as_tensor();
    if (destination.holds(x) || !seen.insert(x.impl()).second) return;
    check_movable(x, path);
    const Tensor grad = kiln::grad_of(x);
    moves.push_back({x, destination.moved(kiln::ops::detach(x)), grad ? destination.moved(grad) : Tensor()});
  });
  return moves;
}

// The tensors stay the same objects, so that optimizers and all else that holds them see them moved.
void move_in_place(const Value& tree, const Destination& destination) {
  const std::vector<Move> moves = moves_to(tree, destination);
  const HeldInterrupts whole;
  for (const Move& each : moves) {
    const bool trained = kiln::requires_grad(each.x);
    const bool is_parameter = kiln::is_parameter(each.x);
    kiln::set_grad(each.x, Tensor());
    kiln::set_requires_grad(each.x, false);
    const Tensor inputs[] = {each.x, each.moved};
    kiln::bind_inplace(kiln::set_op(), inputs, kiln::Attrs(kiln::set_op()));
    kiln::set_requires_grad(each.x, trained);
    if (is_parameter) kiln::mark_parameter(each.x);
    if (each.grad) kiln::set_grad(each.x, each.grad);
  }
}

// Takes one argument of `to` for what it is.
void set_destination(Destination& destination, const Value& argument) {
  if (argument.is_none()) return;
  if (!argument.is(Tag::DType) && !argument.is(Tag::Type)) {
    destination.device = device_argument(argument, "device");
    return;
  }
  destination.dtype = dtype_argument(argument, "dtype");
  if (kiln::is_float(*destination.dtype)) return;
  raise("DTypeError",
        fmt::format("to: a module's tensors can be of floats, not of {}", kiln::name(*destination.dtype)),
        "convert one tensor: x.to(i64)");
}

Value to_destination(Interpreter&, Args a) {
  Destination destination;
  for (const Value& argument : a.subspan(1)) set_destination(destination, argument);
  move_in_place(a[0], destination);
  return a[0];
}
Value on_cpu(Interpreter&, Args a) {
  move_in_place(a[0], {kiln::Device{}, {}});
  return a[0];
}
Value on_cuda(Interpreter&, Args a) {
  move_in_place(a[0], {a[1].is_none() ? kiln::parse_device("cuda") : device_argument(a[1], "device"), {}});
  return a[0];
}

constexpr NativeDef kInstanceMethodsMethods[] = {
    {"to(self, device=none, dtype=none)",
     "Moves all tensors in it to a device, and those of floats to a dtype, in place: parameters, which stay "
     "the same ones, with "
     "their gradients, buffers, and those of structs, lists and dicts within. One argument may be either. "
     "Returns it.",
     to_destination},
    {"cpu(self)", "Moves all tensors in it to the CPU, as `to` does.", on_cpu},
    {"cuda(self, device=none)",
     "Moves all tensors in it to a card of CUDA, the first unless `device` names another, as `to` does.",
     on_cuda},
};

}  // namespace

std::span<const NativeDef> instance_methods() { return kInstanceMethodsMethods; }

}  // namespace kiln::interp
