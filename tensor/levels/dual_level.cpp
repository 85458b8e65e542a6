#include "tensor/levels/dual_level.h"

#include <algorithm>
#include <numeric>

#include "tensor/functions.h"
#include "tensor/levels/grad_level.h"
#include "tensor/view.h"

namespace kiln::levels {
namespace {

bool is_composite(const Op& op) { return op.jvp.missing == kComposite; }

// Zeros laid out as x is where it has no gaps and no overlap: what views x can then views them.
Tensor zeros_in_layout_of(const Tensor& x) {
  Dims order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), Dim{0});
  std::stable_sort(order.begin(), order.end(), [&](Dim a, Dim b) {
    return x.strides()[static_cast<std::size_t>(a)] > x.strides()[static_cast<std::size_t>(b)];
  });
  Dims sizes, back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(x.sizes()[static_cast<std::size_t>(order[i])]);
    back[static_cast<std::size_t>(order[i])] = static_cast<Dim>(i);
  }
  // Made of x, so that under vmap every example has its own.
  const Tensor zeros = ops::zeros_like(ops::permute(ops::detach(x), order));
  return ops::permute(ops::contiguous(zeros), back);
}

// The levels that a tensor belongs to, by its value or by a tangent of it.
using Levels = SmallVector<LevelId, 8>;
void collect_levels(const Tensor& x, Levels& into) {
  const Wrapper* wrapper = x ? wrapper_of(x) : nullptr;
  if (wrapper == nullptr) return;
  into.push_back(wrapper->level);
  collect_levels(wrapper->value, into);
  collect_levels(wrapper->tangent, into);
}

// Do elements share memory, as those that broadcasting repeats do?
bool is_expanded(const Tensor& x) {
  for (std::size_t d = 0; d < x.sizes().size(); ++d)
    if (x.sizes()[d] > 1 && x.strides()[d] == 0) return true;
  return false;
}

// The tangent of `value` as what may be written to wherever `value` may: of all its levels. A constant one is
// of none, and examples of a vmap would share its memory.
Tensor writable_beside(const Tensor& value, const Tensor& tangent) {
  Levels wanted, found;
  collect_levels(value, wanted);
  collect_levels(tangent, found);
  const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](LevelId level) {
    return std::find(found.begin(), found.end(), level) != found.end();
  });
  if (has_all) return is_expanded(innermost(tangent)) ? ops::clone(tangent) : tangent;
  return ops::masked_fill(value, Tensor::number(true), Tensor::number(0.0)) + tangent;
}

bool same_strides(const Tensor& a, const Tensor& b) {
  for (std::size_t d = 0; d < a.sizes().size(); ++d) {
    if (a.sizes()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

Tensor in_layout_of(const Tensor& x, const Tensor& tangent) {
  if (same_strides(x, tangent)) return tangent;
  const Tensor zeros = zeros_in_layout_of(x);
  return same_strides(x, zeros) ? zeros + tangent : tangent;
}

// For rows that have a vjp rule and no jvp rule.
Tensors jvp_by_transposition(const JvpArgs& args) {
  const auto type_of = [](const Tensor& x) { return x ? x.type() : TensorType{DType::Bool, {}, {}, true}; };
  std::vector<TensorType> input_types, output_types;
  for (const Tensor& x : args.inputs) input_types.push_back(type_of(x));
  for (const Tensor& x : args.outputs) output_types.push_back(type_of(x));
  SmallVector<bool, 4> needs;
  for (const Tensor& tangent : args.tangents) needs.push_back(static_cast<bool>(tangent));
  const auto pullback = [&](Inputs cotangents) {
    return args.op.vjp.fn(
        {args.op, args.attrs, args.inputs, args.outputs, input_types, output_types, cotangents, needs});
  };
  return transpose(pullback, args.outputs, args.tangents);
}

}  // namespace

Tensor DualLevel::dual(const Tensor& primal, const Tensor& tangent) const { return wrap(primal, tangent); }

Tensor DualLevel::tangent_of(const Tensor& x) const {
  if (!owns(x)) return {};
  Tensor& tangent = wrapper_of(x)->tangent;
  const ViewOrigin* origin = x.impl()->origin.get();
  if (tangent || origin == nullptr) return tangent;
  // A view made before its base had a tangent shares the one that the base has got since.
  Tensor view = tangent_of(base_of(*origin));
  if (!view) return {};
  const Below below(*this);
  for (const ViewStep& step : origin->steps) {
    view = kiln::bind(*step.op, {&view, 1}, step.attrs)[static_cast<std::size_t>(step.output)];
  }
  return tangent = view;
}

void DualLevel::set_tangent(const Tensor& x, const Tensor& tangent) const {
  Tensor target = tangent_of(x);
  if (!target && !tangent) return;
  if (!target) {
    const ViewOrigin* origin = x.impl()->origin.get();
    const Tensor root = origin != nullptr ? base_of(*origin) : x;
    {
      const Below below(*this);
      wrapper_of(root)->tangent = zeros_in_layout_of(wrapper_of(root)->value);
    }
    target = tangent_of(x);
  }
  const Below below(*this);
  if (x.impl()->origin == nullptr) {
    Wrapper& root = *wrapper_of(x);
    target = root.tangent = writable_beside(root.value, root.tangent);
  }
  if (tangent) {
    ops::copy_(target, tangent);
  } else {
    ops::fill_(target, Tensor::number(std::int64_t{0}));
  }
}

Tensors DualLevel::bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  bool any = false;
  for (const Tensor& input : inputs) any = any || (owns(input) && tangent_of(input));
  // Also without tangents: a body may give views, which must be views of this level.
  if (is_composite(op) && (any || !op.has_kernel())) return run_body(op, inputs, attrs);
  if (!any || op.has(kStopsGradient)) return compute(op, inputs, attrs);
  if (op.view != nullptr && !inputs[0].impl()->origin) {
    const Below below(*this);
    Wrapper& root = *wrapper_of(inputs[0]);
    root.tangent = in_layout_of(root.value, writable_beside(root.value, root.tangent));
  }
  return differentiate(op, inputs, attrs);
}

Tensors DualLevel::differentiate(const Op& op, Inputs inputs, const Attrs& attrs) {
  Tensors outputs = compute(op, inputs, attrs);
  const auto is_real = [](const Tensor& x) { return is_float(x.dtype()); };
  if (std::none_of(outputs.begin(), outputs.end(), is_real)) return outputs;
  SmallVector<Tensor, 4> primals, tangents;
  SmallVector<Tensor, 2> values;
  for (const Tensor& input : inputs) {
    primals.push_back(value_below(*this, input));
    tangents.push_back(tangent_of(input));
  }
  for (const Tensor& output : outputs) values.push_back(value_below(*this, output));
  Tensors found;
  {
    const Below below(*this);
    const JvpArgs args{op, attrs, primals, values, tangents};
    if (op.jvp) {
      found = op.jvp.fn(args);
    } else if (op.vjp) {
      found = jvp_by_transposition(args);
    } else {
      throw OpError(ErrorKind::Autograd,
                    std::string(op.name()) + " has no forward derivative: " + std::string(op.jvp.missing), {},
                    "detach its input, or give the derivative with an `autograd` function");
    }
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k] && is_real(outputs[k])) wrapper_of(outputs[k])->tangent = std::move(found[k]);
  }
  return outputs;
}

Tensor DualLevel::write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType&) {
  const Tensor& target = inputs[0];
  check_target(op, target);
  bool any = false;
  for (const Tensor& input : inputs) any = any || tangent_of(input);
  if (!any) {
    compute_inplace(op, inputs, attrs);
    return target;
  }
  const Tensor result = kiln::bind(op, inputs, attrs)[0];
  const Tensor tangent = tangent_of(result);
  {
    const Below below(*this);
    ops::copy_(wrapper_of(target)->value, value_below(*this, result));
  }
  if (is_float(target.dtype())) set_tangent(target, tangent);
  return target;
}

Tensors transpose(const std::function<Tensors(Inputs cotangents)>& pullback, Inputs outputs,
                  Inputs tangents) {
  GradLevel level(Transform::Jvp);
  std::vector<Variable> variables;
  SmallVector<Tensor, 2> cotangents;
  for (const Tensor& output : outputs) {
    const Tensor zeros = ops::zeros_like(output);
    variables.push_back(is_float(output.dtype()) ? level.variable(value_below(level, zeros))
                                                 : Variable{zeros, {}});
    cotangents.push_back(variables.back().inside);
  }
  const Tensors pulled = pullback(cotangents);
  std::vector<Variable> wanted;
  for (const Variable& each : variables) {
    if (each.edge) wanted.push_back(each);
  }
  std::vector<Tensor> found = level.gradients(pulled, tangents, wanted, false);
  Tensors result;
  std::size_t next = 0;
  for (const Variable& each : variables) result.push_back(each.edge ? std::move(found[next++]) : Tensor());
  return result;
}

}  // namespace kiln::levels
