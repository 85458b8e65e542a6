#include <algorithm>

#include "tensor/cpu/elementwise/copy.h"
#include "tensor/guarded/guarded.h"
#include "tensor/interrupt.h"
#include "tensor/levels/level.h"
#include "tensor/op.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln {
namespace {

// An absent input promotes nothing: a bool number.
const TensorType kAbsent{DType::Bool, Device{}, {}, true};

SmallVector<TensorType, 4> types_of(Inputs inputs) {
  SmallVector<TensorType, 4> types;
  types.reserve(inputs.size());
  for (const Tensor& input : inputs) types.push_back(input ? input.type() : kAbsent);
  return types;
}

// What may be absent is a tensor where it is given: rules tell the type of an absent input by its being a
// number. Elementwise ops take numbers for all.
void check_optional(const Op& op, Inputs inputs) {
  const auto is_number = [](const Tensor& input) { return input && input.is_number(); };
  if (op.pointwise != nullptr || std::none_of(inputs.begin(), inputs.end(), is_number)) return;
  std::size_t i = 0;
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind != ArgKind::Tensor && parameter.kind != ArgKind::OptionalTensor) continue;
    if (!is_number(inputs[i++]) || parameter.kind == ArgKind::Tensor) continue;
    throw OpError(ErrorKind::Type,
                  std::string(op.name()) + ": `" + parameter.name + "` must be a tensor, it is a number",
                  {static_cast<int>(i) - 1}, "none leaves it out; `full` makes a tensor of equal elements");
  }
  // Of a list that may have gaps: an absent input is known by the type of a bool number.
  const bool has_gaps =
      std::any_of(op.signature.parameters.begin(), op.signature.parameters.end(),
                  [](const Parameter& each) { return each.kind == ArgKind::OptionalTensorList; });
  for (; has_gaps && i < inputs.size(); ++i) {
    if (!is_number(inputs[i]) || inputs[i].dtype() != DType::Bool) continue;
    throw OpError(ErrorKind::Type, std::string(op.name()) + ": a bool stands where a tensor or none must be",
                  {static_cast<int>(i)}, "none leaves it out; tensor(true) is a mask of no dimensions");
  }
}

std::vector<TensorType> check_inputs(const Op& op, Inputs inputs, const Attrs& attrs) {
  check_optional(op, inputs);
  return op.infer(types_of(inputs), attrs);
}

// The result must fit what it is written into: same shape, no lower category (PyTorch's can_cast).
void check_result(const Op& op, const Tensor& target, const TensorType& result) {
  if (result.sizes != target.sizes()) {
    throw OpError(ErrorKind::Shape,
                  inplace_name(op) + ": the result has shape " + to_string(result.sizes) +
                      ", which cannot be written into a " + to_string(target.type()),
                  {0}, "use " + std::string(op.name()) + ", which makes a new tensor");
  }
  if (category(result.dtype) > category(target.dtype())) {
    throw OpError(ErrorKind::DType,
                  inplace_name(op) + ": the result is " + std::string(name(result.dtype)) +
                      ", which cannot be written into a " + to_string(target.type()),
                  {0}, "convert first: x.to(" + std::string(name(result.dtype)) + ")");
  }
}

// Every level takes its own wrapping off, so that what is still wrapped here belongs to none of them.
void check_plain(Inputs inputs) {
  for (const Tensor& input : inputs) {
    if (input && levels::wrapper_of(input) != nullptr) [[unlikely]]
      levels::refuse_escaped(input);
  }
}

// What is written through a view that lies where its base no longer does would be seen by nobody.
void check_current(const Op& op, const Tensor& target) {
  if (levels::wrapper_of(target) != nullptr || !is_stale(target)) return;
  throw OpError(ErrorKind::Value,
                inplace_name(op) + ": this " + to_string(target.type()) +
                    " is a view of a tensor whose storage was replaced by set_",
                {0}, "take the view anew, or write to a copy: x.clone()");
}

// May `op` write into `target` while it reads `inputs`? Yes when each is apart from it, or reads every
// element just before that element is written.
bool may_write_directly(const Tensor& target, Inputs inputs) {
  for (const Tensor& input : inputs) {
    if (!input || input.layout() == target.layout()) continue;
    if (overlaps(target, input)) return false;
  }
  return true;
}

}  // namespace

void check_writable(const Op& op, const TensorType& type, const Layout& layout) {
  if (!has_overlap(layout)) return;
  throw OpError(ErrorKind::Value,
                inplace_name(op) + ": elements of the " + to_string(type) +
                    " share memory, so a write to one would change others",
                {0}, "write to a copy: x.clone()");
}

namespace {

// Does `eager` compute by itself? A body only calls smaller ops.
bool is_kernel(const Op& op) { return op.lowering != Lowering::Composite || op.has_kernel(); }

}  // namespace

Tensors run_eager(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.view != nullptr) return apply_view(op, inputs[0], attrs);
  if (!op.has(kChecksInEager)) check_inputs(op, inputs, attrs);
  const guarded::Open memory(is_kernel(op));
  return op.eager(op, inputs, attrs);
}

void run_eager_inplace(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& target = inputs[0];
  const guarded::Open memory;
  if (op.into != nullptr && may_write_directly(target, inputs)) {
    op.into(op, inputs, attrs, target);
  } else {
    cpu::copy(target, op.eager(op, inputs, attrs)[0]);
  }
}

Tensors run_body(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (!op.has(kChecksInEager)) check_inputs(op, inputs, attrs);
  return (op.decompose != nullptr ? op.decompose : op.eager)(op, inputs, attrs);
}

Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (levels::top != nullptr) [[unlikely]]
    return levels::top->bind(op, inputs, attrs);
  check_plain(inputs);
  return tape::sees(inputs) ? tape::bind(op, inputs, attrs) : run_eager(op, inputs, attrs);
}

Tensor bind_inplace(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.writes_metadata()) {
    return levels::top != nullptr ? levels::top->rearrange(op, inputs, attrs)
                                  : tape::rearrange(op, inputs, attrs);
  }
  const Tensor& target = inputs[0];
  if (target.impl()->origin) check_current(op, target);
  check_writable(op, target.type(), target.layout());
  const std::vector<TensorType> results = check_inputs(op, inputs, attrs);
  check_result(op, target, results[0]);
  check_interrupt();
  const HeldInterrupts whole;
  if (levels::top != nullptr) [[unlikely]]
    return levels::top->write(op, inputs, attrs, results[0]);
  check_plain(inputs);
  if (tape::sees_write(op, inputs)) return tape::write(op, inputs, attrs, results[0]);
  run_eager_inplace(op, inputs, attrs);
  return target;
}

}  // namespace kiln
