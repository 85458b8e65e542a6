// Steps that ops become: views, results and writes, with what their rules ask of sizes.
#include <algorithm>

#include "interpreter/capture/flow/notes.h"
#include "jit/graph/trace.h"
#include "tensor/backend.h"
#include "tensor/core_ops.h"
#include "tensor/view.h"

namespace kiln::interp::capture {

using jit::Operand;
using jit::ValueId;

// What is asked for the view is no guard. One that has no gaps for some sizes alone is said to have some.
Tensor FlowNotes::alias(const Tensor& x, Layout layout) {
  const std::size_t guards = scope().guards().size();
  Tensor view = Tensor::alias(x, std::move(layout));
  scope().forget_guards(guards);
  view.impl()->contiguous = is_contiguous(view.layout()) && scope().guards().size() == guards;
  scope().forget_guards(guards);
  return view;
}

Tensors FlowNotes::view(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  if (x.is_number()) throw Unsupported{"a view of a number"};
  Tensors results;
  for (Layout& each : op.view(x.layout(), attrs)) {
    each.offset = 0;
    results.push_back(alias(x, std::move(each)));
  }
  jit::FlowStep& step = note(op, jit::Form::Plain, jit::attr_list(attrs), {operand_of(x)}, false);
  std::vector<ValueId> outputs;
  for (const Tensor& each : results) {
    outputs.push_back(add_value(type_of(FlowItem::of(each)), ""));
    know(each, outputs.back());
  }
  step.node.outputs = std::move(outputs);
  return results;
}

Tensor FlowNotes::slice(const Tensor& x, int dim, Dim start, Dim stop, Dim step) {
  if (const Wrapper* const batch = levels::wrapper_of(x))  // whose value has the examples first
    return levels::wrap_like(x, slice(batch->value, dim + 1, start, stop, step), {});
  static const Op& row = core_ops().slice;
  const auto d = static_cast<std::size_t>(dim);
  const Dim size = x.sizes()[d];
  if (same(start, 0) && same(stop, size) && same(step, 1)) stop = size;
  Dim distance = stop - start;
  if (scope().decide(SizeRelation::AtMost, 0, distance) != true) distance = max(distance, Dim(0));
  Layout layout = x.layout();
  layout.sizes[d] = same(step, 1) ? distance : ceil_div(distance, step);
  if (!same(step, 1)) {
    const bool fits = scope().decide(SizeRelation::AtMost, step, size) == true;
    layout.strides[d] *= fits ? step : min(step, max(size, Dim(1)));
  }
  Attrs attrs(row);
  attrs.set("dim", Dim(dim)).set("start", start).set("end", stop).set("step", step);
  const Tensor result = alias(x, std::move(layout));
  jit::FlowStep& noted = note(row, jit::Form::Plain, jit::attr_list(attrs), {operand_of(x)}, false);
  const ValueId id = add_value(type_of(FlowItem::of(result)), "");
  know(result, id);
  noted.node.outputs = {id};
  return result;
}

namespace {

void refuse_effects(const Op& op, const Attrs& attrs) {
  const std::string name = "`" + spoken_name(op) + "`";
  if (op.is_ordered() && !op.draws()) throw Unsupported{name + " has an effect beside its result"};
  if (op.call != nullptr) throw Unsupported{name + " is code of its own"};
  if (op.has(kCountsPlaces)) throw Unsupported{name + " sees the memory itself"};
  if (op.writes_inputs != nullptr && op.writes_inputs(attrs))
    throw Unsupported{name + " writes what it is given"};
}

// Complex numbers are in no register of a flow, and their parts are views of another dtype.
void refuse_complex(const Op& op, Inputs inputs, const Attrs& attrs) {
  const auto is_complex_tensor = [](const Tensor& x) { return x && is_complex(x.dtype()); };
  const auto names_complex = [](const Attr& each) {
    const auto* const dtype = std::get_if<DType>(&each);
    return dtype != nullptr && is_complex(*dtype);
  };
  const bool makes_one = op.view_dtype != nullptr || op.identity.kind == Identity::Kind::JoinsParts;
  if (makes_one || std::any_of(inputs.begin(), inputs.end(), is_complex_tensor) ||
      std::any_of(attrs.values().begin(), attrs.values().end(), names_complex))
    throw Unsupported{"`" + spoken_name(op) + "` is of complex numbers"};
}

}  // namespace

// The rule is asked before results are made, so that the guards are those of the rule. Making a result asks
// whether it has elements, and that answer must not become a guard of the flow.
Tensors FlowNotes::results_of(const Op& op, Inputs inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& each : inputs)
    types.push_back(each ? each.type() : jit::evaluate(jit::absent_type(), {}));
  static_cast<void>(op.infer(types, attrs));
  const std::size_t of_rule = scope().guards().size();
  Tensors results = jit::results_without_elements(op, inputs, attrs);
  forget_guards_if(of_rule, [](const SizeGuard& guard) {
    return guard.relation == SizeRelation::NotEqual && (same(guard.a, 0) || same(guard.b, 0));
  });
  return results;
}

Tensors FlowNotes::run(const Op& op, Inputs inputs, const Attrs& attrs) {
  refuse_effects(op, attrs);
  refuse_complex(op, inputs, attrs);
  const SizeScope::Reason reason(op.name());
  if (op.view != nullptr) return view(op, inputs, attrs);
  if (op.decompose != nullptr && !has_kernel(op, inputs)) {
    // A body may ask whether an operand is without gaps, which a view was taken not to be.
    for (const Tensor& each : inputs) {
      if (each && !each.is_contiguous() && is_contiguous(each.layout()))
        throw Unsupported{"a view that has no gaps, for some sizes alone"};
    }
    return run_body(op, inputs, attrs);
  }
  const Tensors results = results_of(op, inputs, attrs);
  if (op.pointwise != nullptr) forget_broadcast();
  std::vector<Operand> operands;
  for (const Tensor& each : inputs) operands.push_back(operand_of(each));
  const bool may_exit = exit_(failure_of(op)) != jit::kCannotFail;
  jit::FlowStep& step =
      note(op, jit::Form::Plain, jit::attr_list(attrs), std::move(operands), may_exit || op.may_fail());
  std::vector<ValueId> outputs;
  for (const Tensor& each : results) {
    if (each.device() != Device{}) throw Unsupported{"a tensor is made that is not on the CPU"};
    outputs.push_back(add_value(jit::to_type(each.type()), ""));
    know(each, outputs.back());
    made_at_.insert_or_assign(each.storage().get(), ++made_);
  }
  step.node.outputs = std::move(outputs);
  wrote_ = wrote_ || op.draws();  // which cannot be done again, either
  return results;
}

// Elements of a view that is no broadcast share no memory, whatever its sizes are: what was asked to find
// that out is no guard.
void FlowNotes::forget_overlap(const Tensor& target) {
  std::vector<SizeGuard> asked;
  {
    SizeScope apart(graph_.hints, 0);
    for (const SizeGuard& each : facts_) apart.assume(each);
    const std::size_t known = apart.guards().size();
    static_cast<void>(has_overlap(target.layout()));
    asked.assign(apart.guards().begin() + static_cast<std::ptrdiff_t>(known), apart.guards().end());
  }
  forget_guards_if(guards_, [&asked](const SizeGuard& guard) {
    return std::any_of(asked.begin(), asked.end(), [&guard](const SizeGuard& each) {
      return each.relation == guard.relation && same(each.a, guard.a) && same(each.b, guard.b);
    });
  });
}

// Sizes that broadcast are equal, or one of them is 1, and guards say which. So the size of the result is
// right for all sizes, and that one of them is not 1 need not be asked.
void FlowNotes::forget_broadcast() {
  forget_guards_if(guards_, [](const SizeGuard& guard) {
    return guard.relation == SizeRelation::NotEqual && (same(guard.a, 1) || same(guard.b, 1));
  });
}

// Of the guards from `first` on, which belong to no step yet.
template <class F>
void FlowNotes::forget_guards_if(std::size_t first, const F& is_needless) {
  std::vector<SizeGuard> others;
  const std::vector<SizeGuard>& guards = scope().guards();
  for (std::size_t k = first; k < guards.size(); ++k) {
    if (!is_needless(guards[k])) others.push_back(guards[k]);
  }
  scope().forget_guards(first);
  for (const SizeGuard& each : others) scope().assume(each);
}

void FlowNotes::write(const Op& op, Inputs inputs, const Attrs& attrs) {
  refuse_effects(op, attrs);
  const Tensor& target = inputs[0];
  forget_overlap(target);
  if (op.pointwise != nullptr) forget_broadcast();
  std::vector<Operand> operands;
  for (const Tensor& each : inputs) operands.push_back(operand_of(each));
  const bool may_exit = exit_(failure_of(op)) != jit::kCannotFail;
  jit::FlowStep& step =
      note(op, jit::Form::Write, jit::attr_list(attrs), std::move(operands), may_exit || op.may_fail());
  const ValueId result = add_value(type_of(FlowItem::of(target)), "");
  step.node.outputs = {result};
  const auto made = made_at_.find(target.storage().get());
  wrote_ = wrote_ || made == made_at_.end() || made->second <= fresh_since_;
}

}  // namespace kiln::interp::capture
