#include "tensor/levels/batch_level.h"

#include <algorithm>

#include "tensor/functions.h"
#include "tensor/levels/example_memory.h"
#include "tensor/ops/rules.h"
#include "tensor/random.h"
#include "tensor/view.h"
#include "tensor/warning.h"

namespace kiln::levels {
namespace {

TensorType type_of(const Tensor& x) { return x ? x.type() : TensorType{DType::Bool, {}, {}, true}; }

// The op that the program has called, while bodies of ops run for it: errors speak of that one.
class CalledOp {
 public:
  explicit CalledOp(const Op& op) : before_(called_) {
    if (called_ == nullptr) called_ = &op;
  }
  CalledOp(const CalledOp&) = delete;
  CalledOp& operator=(const CalledOp&) = delete;
  ~CalledOp() { called_ = before_; }

  static const Op& or_else(const Op& op) { return called_ == nullptr ? op : *called_; }

 private:
  static thread_local const Op* called_;
  const Op* before_;
};
thread_local const Op* CalledOp::called_ = nullptr;

[[noreturn]] void refuse_random(const Op& op) {
  throw OpError(ErrorKind::Value, "vmap: " + spoken_name(CalledOp::or_else(op)) + " draws random numbers", {},
                "say whether examples draw alike: randomness=\"same\", or each for itself: "
                "randomness=\"different\"");
}

[[noreturn]] void refuse_unbatched_target(const std::string& transform, const Op& op, const Tensor& target) {
  throw OpError(ErrorKind::Value,
                transform + ": " + inplace_name(op) +
                    " would write what differs from example to example into a " + to_string(target.type()) +
                    " that all examples share",
                {0}, "make it from a batched tensor, which gives every example its own: x.new_zeros(…)");
}

}  // namespace

Tensor BatchLevel::batch_of(const Tensor& x) const {
  const Below below(*this);
  return owns(x) ? wrapper_of(x)->value : ops::expand(x, rules::prepend(size_, x.sizes()));
}

Tensors BatchLevel::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  const bool any = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return owns(x); });
  if (op.batch.missing == kComposite && (any || op.draws())) {
    const CalledOp called(op);
    return run_body(op, inputs, attrs);
  }
  if (op.draws()) return draw(op, inputs, attrs);
  if (any) return run_rule(op, inputs, attrs);
  const Below below(*this);
  return kiln::bind(op, inputs, attrs);
}

Tensors BatchLevel::run_rule(const Op& op, Inputs inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  if (!op.draws()) op.infer(types, attrs);
  if (!op.batch) {
    if (size_ > 0) {
      warn_once("vmap " + std::string(op.name()), transform() + " has no batching rule for " +
                                                      spoken_name(op) + " (" + std::string(op.batch.missing) +
                                                      "): it runs example by example");
    }
    return loop(op, inputs, attrs, false);
  }
  SmallVector<Tensor, 4> values;
  SmallVector<bool, 4> batched;
  for (const Tensor& input : inputs) {
    values.push_back(value_below(*this, input));
    batched.push_back(owns(input));
  }
  Tensors outputs;
  if (op.has(kCountsPlaces) && owns(inputs[0])) {
    check_own_places(op, inputs[0], attrs, whole_);
    const std::shared_ptr<const Layout> memory = memory_of(inputs[0]);
    const Attrs places = places_below(attrs, *memory);
    const Below below(*this);
    outputs = op.batch.fn({op, places, values, batched, size_, memory.get()});
  } else {
    const Below below(*this);
    outputs = op.batch.fn({op, attrs, values, batched, size_});
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].rank() == 0 || outputs[k].size(0) != size_) {
      throw InternalError("the batching rule of " + std::string(op.name()) + " gave a " +
                          to_string(outputs[k].type()) + " for a batch of " + std::to_string(size_));
    }
    std::shared_ptr<const Layout> memory = memory_of_result(op, inputs, outputs[k]);
    outputs[k] = levels::wrap(id(), kind(), std::move(outputs[k]), {}, false, std::move(memory));
    if (op.view != nullptr) link_view(op, inputs[0], attrs, static_cast<int>(k), outputs[k]);
  }
  return outputs;
}

// Null where the result has memory of its own.
std::shared_ptr<const Layout> BatchLevel::memory_of_result(const Op& op, Inputs inputs,
                                                           const Tensor& value) const {
  if (op.has(kCountsPlaces) && op.view == nullptr && owns(inputs[0]))
    return memory_like(*memory_of(inputs[0]), inputs[0], value);
  for (const Tensor& input : inputs) {
    if (owns(input) && input.storage() == value.storage()) return memory_of(input);
  }
  return nullptr;
}

Tensors BatchLevel::draw(const Op& op, Inputs inputs, const Attrs& attrs) {
  switch (randomness_) {
    case Randomness::Different:
      if (size_ != whole_) return draw_part(op, inputs, attrs);
      return op.batch ? run_rule(op, inputs, attrs) : loop(op, inputs, attrs, false);
    case Randomness::Same: {
      if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return owns(x); })) {
        return loop(op, inputs, attrs, true);
      }
      const Below below(*this);
      return kiln::bind(op, inputs, attrs);
    }
    default:
      refuse_random(op);
  }
}

// Draws for the whole batch, of which these examples take their part. The others count as ones.
Tensors BatchLevel::draw_part(const Op& op, Inputs inputs, const Attrs& attrs) {
  Tensors outputs;
  if (!op.batch) {  // a draw for each example
    skip_draws(start_);
    outputs = loop(op, inputs, attrs, false);
    skip_draws(whole_ - start_ - size_);
    return outputs;
  }
  const auto among_ones = [&](const Tensor& x) {
    Dims before = x.sizes(), after = x.sizes();
    before[0] = start_;
    after[0] = whole_ - start_ - size_;
    return ops::cat(
        Tensors{ops::ones(before, x.dtype(), x.device()), x, ops::ones(after, x.dtype(), x.device())}, 0);
  };
  {
    const Below below(*this);
    SmallVector<Tensor, 4> values;
    SmallVector<bool, 4> batched;
    for (const Tensor& input : inputs) {
      values.push_back(owns(input) ? among_ones(wrapper_of(input)->value) : input);
      batched.push_back(owns(input));
    }
    outputs = op.batch.fn({op, attrs, values, batched, whole_});
    for (Tensor& output : outputs) output = ops::clone(ops::slice(output, 0, start_, start_ + size_));
  }
  for (Tensor& output : outputs) output = wrap(std::move(output));
  return outputs;
}

// What the op gives of no examples: tensors of the types that it has of one, as far as these are known.
Tensors BatchLevel::of_none(const Op& op, Inputs inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  Tensors outputs;
  for (const TensorType& each : op.infer(types, attrs)) {
    if (std::find(each.sizes.begin(), each.sizes.end(), -1) != each.sizes.end()) {
      throw OpError(
          ErrorKind::Value,
          "vmap: the shape of what " + spoken_name(op) + " gives depends on data, and there are no examples",
          {0}, "use an op whose shape does not depend on data, such as where(condition, a, b)");
    }
    const Below below(*this);
    outputs.push_back(ops::zeros(rules::prepend(0, each.sizes), each.dtype, each.device));
  }
  for (Tensor& each : outputs) each = wrap(std::move(each));
  return outputs;
}

Tensors BatchLevel::loop(const Op& op, Inputs inputs, const Attrs& attrs, bool alike) {
  if (size_ == 0) return of_none(op, inputs, attrs);
  const Generator before = generator();
  std::vector<std::vector<Tensor>> columns;  // by output
  {
    const Below below(*this);
    for (Dim b = 0; b < size_; ++b) {
      SmallVector<Tensor, 4> example;
      // Each example is in memory of its own, since rows without a rule may ask for its layout.
      for (const Tensor& x : inputs)
        example.push_back(owns(x) ? ops::clone(ops::select(wrapper_of(x)->value, 0, b)) : x);
      if (alike) rewind_draws(before);
      Tensors outputs = kiln::bind(op, example, attrs);
      columns.resize(outputs.size());
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (b > 0 && outputs[k].sizes() != columns[k][0].sizes()) {
          throw OpError(ErrorKind::Shape,
                        transform() + ": " + spoken_name(op) + " gives " + to_string(columns[k][0].type()) +
                            " for one example and " + to_string(outputs[k].type()) +
                            " for another: a batch needs results of one shape",
                        {0}, "use an op whose shape does not depend on data, such as where(condition, a, b)");
        }
        columns[k].push_back(std::move(outputs[k]));
      }
    }
    for (std::vector<Tensor>& column : columns) column = {ops::stack(column, 0)};
  }
  Tensors stacked;
  for (std::vector<Tensor>& column : columns) stacked.push_back(wrap(std::move(column[0])));
  return stacked;
}

Tensor BatchLevel::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType&) {
  const Tensor& target = inputs[0];
  const bool any = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return owns(x); });
  const bool draws_each = op.draws() && randomness_ == Randomness::Different;
  if (op.draws() && randomness_ == Randomness::Error) refuse_random(op);
  if (!any && !draws_each) {
    const Below below(*this);
    return kiln::bind_inplace(op, inputs, attrs);
  }
  if (!owns(target)) refuse_unbatched_target(transform(), op, target);
  const Tensor result = kiln::bind(op, inputs, attrs)[0];
  const Below below(*this);
  ops::copy_(wrapper_of(target)->value, value_below(*this, result));
  return target;
}

// Without examples it is its own value.
Tensor BatchLevel::adopt(Tensor made) {
  const Below below(*this);
  return levels::adopt(std::move(made));
}

}  // namespace kiln::levels
