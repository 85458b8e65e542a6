#include "jit/cpu/flow_scope.h"

#include <set>
#include <string>

namespace kiln::jit {
namespace {

Dim size_of(const Operand& operand) {
  return operand.is_value() ? Dim::symbol(symbol_of(operand.value)) : std::get<Dim>(operand.number);
}

// Of each step that finds a place or a bound within a size: its result, and the largest value that it has.
template <class F>
void each_place(const FlowGraph& flow, const F& f) {
  for (const FlowBlock& block : flow.blocks) {
    for (const FlowStep& step : block.steps) {
      const auto number = step.node.is_constant() ? std::nullopt : number_op_of(*step.node.op);
      if (number == NumberOp::Index) f(symbol_of(step.node.outputs[0]), size_of(step.node.operands[1]) - 1);
      if (number == NumberOp::SliceBound) f(symbol_of(step.node.outputs[0]), size_of(step.node.operands[1]));
    }
  }
}

}  // namespace

FlowScope::FlowScope(const FlowGraph& flow) {
  std::set<std::string> places;
  each_place(flow, [&](const std::string& place, Dim) { places.insert(place); });
  for (const auto& [name, hint] : flow.hints) {
    const bool is_size = !number_of(name) && hint >= SizeScope::kLowestSize;
    scope_.add(name, hint,
               places.contains(name) ? 0 : (is_size ? SizeScope::kLowestSize : SizeScope::kAnyInt));
  }
  each_place(flow, [&](const std::string& place, Dim most) {
    scope_.assume({SizeRelation::AtMost, 0, Dim::symbol(place), {}, {}});
    scope_.assume({SizeRelation::AtMost, Dim::symbol(place), most, {}, {}});
  });
  facts_ = scope_.guards().size();
}

}  // namespace kiln::jit
