// Methods of all structs: moving what is in them to another device.
#include <fmt/format.h>

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

void check_movable(const Tensor& x, const std::string& path) {
  if (kiln::is_leaf(x)) return;
  raise("ValueError",
        fmt::format("to: {} is a result of {}, which cannot be moved in place", path, kiln::grad_fn_name(x)),
        "keep the tensor that it was made of, or detach it first");
}

// Those of `tree` that are elsewhere, each once.
std::vector<Move> moves_to(const Value& tree, kiln::Device device) {
  std::vector<Move> moves;
  std::unordered_set<const kiln::TensorImpl*> seen;
  each_leaf(tree, [&](const Value& leaf, const std::string& path) {
    if (!leaf.is(Tag::Tensor) || leaf.tensor().device() == device) return;
    const Tensor x = leaf.as_tensor();
    if (!seen.insert(x.impl()).second) return;
    check_movable(x, path);
    const Tensor grad = kiln::grad_of(x);
    moves.push_back(
        {x, kiln::ops::to(kiln::ops::detach(x), device), grad ? kiln::ops::to(grad, device) : Tensor()});
  });
  return moves;
}

// The tensors stay the same objects, so that optimizers and all else that holds them see them moved.
void move_in_place(const Value& tree, kiln::Device device) {
  const std::vector<Move> moves = moves_to(tree, device);
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

Value to_device(Interpreter&, Args a) {
  move_in_place(a[0], device_argument(a[1], "device"));
  return a[0];
}
Value on_cpu(Interpreter&, Args a) {
  move_in_place(a[0], kiln::Device{});
  return a[0];
}
Value on_cuda(Interpreter&, Args a) {
  move_in_place(a[0], a[1].is_none() ? kiln::parse_device("cuda") : device_argument(a[1], "device"));
  return a[0];
}

constexpr NativeDef kMethods[] = {
    {"to(self, device)",
     "Moves all tensors in it there, in place: parameters, which stay the same ones, with their gradients, "
     "buffers, and those of structs, lists and dicts within. Returns it.",
     to_device},
    {"cpu(self)", "Moves all tensors in it to the CPU, as `to` does.", on_cpu},
    {"cuda(self, device=none)",
     "Moves all tensors in it to a card of CUDA, the first unless `device` names another, as `to` does.",
     on_cuda},
};

}  // namespace

std::span<const NativeDef> instance_methods() { return kMethods; }

}  // namespace kiln::interp
