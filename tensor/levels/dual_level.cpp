#include "tensor/levels/dual_level.h"
#include "tensor/backend.h"

#include <algorithm>
#include <numeric>

#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/levels/grad_level.h"
#include "tensor/ops/rules.h"
#include "tensor/view.h"

namespace kiln::levels {
namespace {

bool is_composite(const Op& op) { return op.jvp.missing == kComposite; }

bool same_strides(const Tensor& a, const Tensor& b) {
  for (std::size_t d = 0; d < a.sizes().size(); ++d) {
    if (a.sizes()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

// The tangent laid out as x is where that has no gaps and no overlap: what views x can then views it.
Tensor in_layout_of(const Tensor& x, const Tensor& tangent) {
  if (same_strides(x, tangent)) return tangent;
  Dims order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), Dim{0});
  std::stable_sort(order.begin(), order.end(), [&](Dim a, Dim b) {
    return x.strides()[static_cast<std::size_t>(a)] > x.strides()[static_cast<std::size_t>(b)];
  });
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<Dim>(i);
  return ops::permute(ops::contiguous(ops::permute(tangent, order)), back);
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

bool has_levels_of(const Tensor& x, const Tensor& tangent) {
  Levels wanted, found;
  collect_levels(x, wanted);
  collect_levels(tangent, found);
  return std::all_of(wanted.begin(), wanted.end(), [&](LevelId level) {
    return std::find(found.begin(), found.end(), level) != found.end();
  });
}

// The tangent of `value` as what may be written to wherever `value` may: of all its levels, and of those of
// what is written. A constant one is of none, and examples of a vmap would share its memory.
Tensor writable_beside(const Tensor& value, const Tensor& tangent, const Tensor& written = {}) {
  static const Op& new_zeros = core_ops().new_zeros;
  Tensor result = tangent;
  for (const Tensor* each : {&value, &written}) {
    if (*each && !has_levels_of(*each, result))
      result = rules::apply_one(new_zeros, {ops::detach(*each)},
                                {value.sizes(), std::monostate{}, std::monostate{}}) +
               result;
  }
  if (is_expanded(innermost(result))) result = ops::clone(result);
  return in_layout_of(value, result);
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

Tensors push_forward(const JvpArgs& args) {
  if (args.op.jvp) return args.op.jvp.fn(args);
  if (args.op.vjp) return jvp_by_transposition(args);
  throw OpError(ErrorKind::Autograd,
                spoken_name(args.op) + " has no forward derivative: " + std::string(args.op.jvp.missing), {},
                "detach its input, or give the derivative with an `autograd` function");
}

// The tangent of a view that is no view of the base's tangent, since that has another layout than the base.
Tensor push_along(const ViewPath& path, Tensor value, Tensor tangent) {
  for (const ViewStep& step : path.of_base()) {
    const Tensors views = kiln::bind(*step.op, {&value, 1}, step.attrs);
    const Tensors found = push_forward({*step.op, step.attrs, {&value, 1}, views, {&tangent, 1}});
    value = views[static_cast<std::size_t>(step.output)];
    tangent = found[static_cast<std::size_t>(step.output)];
  }
  return tangent;
}

[[noreturn]] void refuse_apart(const Tensor& x) {
  throw OpError(
      ErrorKind::Autograd,
      "jvp: this " + to_string(x.type()) +
          " is a view that counts places of the storage, in which its tangent has no part, so a write to "
          "it cannot be differentiated",
      {0}, "write to a view by slices, or to a copy: x.clone()");
}

}  // namespace

Tensor DualLevel::dual(const Tensor& primal, const Tensor& tangent) const { return wrap(primal, tangent); }

// A view shares the tangent of its base: the one that this has got, or got anew, since the view was made.
Tensor DualLevel::tangent_of(const Tensor& x) const {
  if (!owns(x)) return {};
  Tensor& tangent = wrapper_of(x)->tangent;
  const ViewOrigin* origin = x.impl()->origin.get();
  if (origin == nullptr) return tangent;
  const Tensor& base = base_of(*origin);
  const Tensor whole = tangent_of(base);
  const bool is_shared = tangent && whole && shares_storage(tangent, whole);
  if (!whole || (is_shared && !origin->steps.count_places())) return tangent;
  const Below below(*this);
  const ViewPath path(x);
  if (!path.can_be_of(whole)) return push_along(path, wrapper_of(base)->value, whole);
  return tangent = is_shared ? tangent : follow_steps(whole, path.of(whole));
}

void DualLevel::set_tangent(const Tensor& x, const Tensor& tangent) const {
  if (!tangent && !tangent_of(x)) return;
  const ViewOrigin* origin = x.impl()->origin.get();
  Wrapper& root = *wrapper_of(origin != nullptr ? base_of(*origin) : x);
  {
    const Below below(*this);
    if (!root.tangent) root.tangent = ops::zeros_like(ops::detach(root.value));
    root.tangent = writable_beside(root.value, root.tangent, tangent);
    if (origin != nullptr && !ViewPath(x).can_be_of(root.tangent)) refuse_apart(x);
  }
  const Tensor target = tangent_of(x);
  const Below below(*this);
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
  if (is_composite(op) && (any || !has_kernel(op, inputs))) return run_body(op, inputs, attrs);
  if (!any || op.has(kStopsGradient)) return compute(op, inputs, attrs);
  if (op.view != nullptr && !inputs[0].impl()->origin) {
    const Below below(*this);
    Wrapper& root = *wrapper_of(inputs[0]);
    root.tangent = writable_beside(root.value, root.tangent);
  }
  return differentiate(op, inputs, attrs);
}

Tensors DualLevel::differentiate(const Op& op, Inputs inputs, const Attrs& attrs) {
  Tensors outputs = compute(op, inputs, attrs);
  const auto is_real = [](const Tensor& x) { return is_differentiable(x.dtype()); };
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
    found = push_forward(args);
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
  if (is_differentiable(target.dtype())) set_tangent(target, tangent);
  return target;
}

Tensors transpose(const std::function<Tensors(Inputs cotangents)>& pullback, Inputs outputs,
                  Inputs tangents) {
  GradLevel level(Transform::Jvp);
  std::vector<Variable> variables;
  SmallVector<Tensor, 2> cotangents;
  for (const Tensor& output : outputs) {
    const Tensor zeros = ops::zeros_like(output);
    variables.push_back(is_differentiable(output.dtype()) ? level.variable(value_below(level, zeros))
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
