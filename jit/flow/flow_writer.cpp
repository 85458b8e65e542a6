#include "jit/flow/flow_writer.h"

#include <algorithm>
#include <iterator>

#include "jit/flow/flow_stack.h"
#include "jit/shape_rules.h"
#include "tensor/core_ops.h"

namespace kiln::jit {

bool asks_for_small_size(const SizeGuard& guard) {
  const auto is_small = [](Dim size) { return same(size, 0) || same(size, 1); };
  return guard.relation == SizeRelation::NotEqual && (is_small(guard.a) || is_small(guard.b));
}

Type number_type(DType dtype) { return {dtype, Device{}, {}, true, std::nullopt}; }

Type operand_type(const FlowGraph& flow, const Operand& operand) {
  if (operand.is_value()) return flow.type(operand.value);
  return operand_type(Graph{}, operand);
}

TraceOperand traced(const FlowGraph& flow, const Operand& operand) {
  if (!operand.is_value()) return {operand, DType::F32, {}, {}, false};
  const Type& type = flow.type(operand.value);
  const auto layout = [sizes = type.sizes] { return Layout{sizes, contiguous_strides(sizes), 0}; };
  return {operand, type.dtype, type.device, layout, type.is_number};
}

ValueId FlowWriter::value(Type type, std::int64_t hint) {
  const auto id = static_cast<ValueId>(flow.values.size());
  if (type.is_number && type.dtype == DType::I64) flow.hints.emplace(symbol_of(id), hint);
  flow.values.push_back({"", std::move(type)});
  return id;
}

BlockId FlowWriter::begin_block() {
  flow.blocks.emplace_back();
  return at_ = static_cast<BlockId>(flow.blocks.size()) - 1;
}

ValueId FlowWriter::parameter(Type type, std::int64_t hint) {
  const ValueId id = value(std::move(type), hint);
  block().parameters.push_back(id);
  return id;
}

std::vector<ValueId> FlowWriter::add(FlowStep step, std::vector<ValueId> results) {
  step.node.outputs = std::move(results);
  std::vector<Type> types;
  if (step.node.is_constant()) {
    types = {to_type(step.node.constant.type())};
  } else {
    Graph known;  // of types alone
    known.values.swap(flow.values);
    known.hints = flow.hints;
    try {
      Inferred inferred = infer_types(known, step.node);
      types = std::move(inferred.types);
      if (step.exit != kCannotFail) {
        std::remove_copy_if(inferred.guards.begin(), inferred.guards.end(), std::back_inserter(step.guards),
                            asks_for_small_size);
      }
    } catch (...) {
      known.values.swap(flow.values);
      throw;
    }
    known.values.swap(flow.values);
  }
  for (std::size_t k = step.node.outputs.size(); k < types.size(); ++k)
    step.node.outputs.push_back(value(std::move(types[k])));
  std::vector<ValueId> made = step.node.outputs;
  block().steps.push_back(std::move(step));
  return made;
}

ValueId FlowWriter::apply(const Op& op, std::vector<Operand> operands, std::vector<Attr> attrs,
                          const Node& like, Form form) {
  FlowStep step;
  step.node.op = &op;
  step.node.form = form;
  step.node.operands = std::move(operands);
  step.node.attrs = std::move(attrs);
  step.node.place = like.place;
  step.node.origin = like.origin;
  step.exit = failing;
  return add(std::move(step))[0];
}

ValueId FlowWriter::apply(const Op& op, std::vector<Operand> operands, const Node& like, Form form) {
  return apply(op, std::move(operands), attr_list(Attrs(op)), like, form);
}

ValueId FlowWriter::number(NumberOp op, std::vector<Operand> operands, std::int64_t hint) {
  const ValueId made = apply(number_op(op), std::move(operands), {}, Node{});
  if (flow.type(made).dtype == DType::I64) flow.hints[symbol_of(made)] = hint;
  return made;
}

ValueId FlowWriter::element(ValueId of, std::int64_t place) {
  static const Op &slice = core_ops().slice, &view = core_ops().view;
  Attrs part(slice), shape(view);
  part.set("dim", Dim(0)).set("start", Dim(place)).set("end", Dim(place + 1)).set("step", Dim(1));
  shape.set("shape", Dims{});
  const ValueId one = apply(slice, {Operand::of(of)}, attr_list(part), Node{});
  return apply(view, {Operand::of(one)}, attr_list(shape), Node{});
}

namespace {

// The results that a step of the fragment makes are these values, where its outputs are given.
std::vector<ValueId> given_results(const Fragment& fragment, std::size_t first_slot, std::size_t count,
                                   std::span<const ValueId> results) {
  std::vector<ValueId> given;
  for (std::size_t k = 0; k < fragment.outputs.size() && k < results.size(); ++k) {
    const ValueId slot = fragment.outputs[k].value;
    if (slot < static_cast<ValueId>(first_slot) || slot >= static_cast<ValueId>(first_slot + count)) continue;
    if (count > 1) throw OpError(ErrorKind::Capture, "a body gives one of several results of an op");
    given = {results[k]};
  }
  return given;
}

}  // namespace

std::vector<Operand> FlowWriter::inline_fragment(const Fragment& fragment, std::vector<Operand> operands,
                                                 const FlowStep& like, std::span<const ValueId> results) {
  std::vector<Operand> slots = std::move(operands);
  const auto in_slots = [&slots](const Operand& each) {
    return each.is_value() ? slots[static_cast<std::size_t>(each.value)] : each;
  };
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Operand& output = fragment.outputs[k];
    if (!output.is_value() || output.value < static_cast<ValueId>(fragment.inputs))
      throw OpError(ErrorKind::Capture, "a body gives its operand back");
  }
  bool has_guards = like.exit == kCannotFail;
  for (const Fragment::Step& each : fragment.steps) {
    FlowStep step;
    step.node.op = each.op;
    step.node.constant = each.constant;
    step.node.attrs = each.attrs;
    step.node.place = like.node.place;
    step.node.origin = like.node.origin;
    for (const Operand& operand : each.operands) step.node.operands.push_back(in_slots(operand));
    if (each.op != nullptr) step.exit = like.exit;
    if (!has_guards && each.op != nullptr) {
      step.guards = fragment.guards;
      has_guards = true;
    }
    std::vector<ValueId> given = given_results(fragment, slots.size(), each.results, results);
    for (const ValueId id : add(std::move(step), std::move(given))) slots.push_back(Operand::of(id));
  }
  std::vector<Operand> outputs;
  for (const Operand& each : fragment.outputs) outputs.push_back(in_slots(each));
  return outputs;
}

void FlowWriter::push(Operand operand) {
  FlowStep step;
  step.node.op = &push_op();
  step.node.operands = {std::move(operand)};
  block().steps.push_back(std::move(step));
}

ValueId FlowWriter::pop(Type type, std::int64_t hint) {
  FlowStep step;
  step.node.op = &pop_op();
  const ValueId made = value(std::move(type), hint);
  step.node.outputs = {made};
  block().steps.push_back(std::move(step));
  return made;
}

}  // namespace kiln::jit
