#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jit/flow/flow_names.h"
#include "jit/flow/flow_stack.h"
#include "jit/graph/text.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

// By value: is it defined?
using Defined = std::vector<bool>;

class Checker {
 public:
  explicit Checker(const FlowGraph& flow) : flow_(flow), names_(flow_value_names(flow)) {
    types_.values = flow.values;
    types_.hints = flow.hints;
  }

  void run() {
    if (flow_.blocks.empty()) fail("there is no block");
    if (flow_.values.size() < flow_.inputs.size()) fail("there are fewer values than inputs");
    if (!flow_.blocks[0].parameters.empty()) fail("the first block has parameters");
    definitions();
    for (const FlowBlock& each : flow_.blocks) targets(each);
    find_defined_at_beginnings();
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) block(b);
  }

 private:
  [[noreturn]] static void fail(std::string text) { throw std::string(std::move(text)); }
  const std::string& name(ValueId id) const { return names_[static_cast<std::size_t>(id)]; }

  // ---- What is defined where ----

  void define(ValueId id, Defined& by) const {
    if (id < 0 || static_cast<std::size_t>(id) >= flow_.values.size())
      fail(fmt::format("there is no value {}", id));
    if (by[static_cast<std::size_t>(id)]) fail(name(id) + " is defined twice");
    by[static_cast<std::size_t>(id)] = true;
  }
  void definitions() const {
    Defined all(flow_.values.size());
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i) define(static_cast<ValueId>(i), all);
    for (const FlowBlock& each : flow_.blocks) define_in(each, all);
    const auto missing = std::find(all.begin(), all.end(), false);
    if (missing != all.end()) fail("nothing defines " + name(static_cast<ValueId>(missing - all.begin())));
  }
  void define_in(const FlowBlock& block, Defined& by) const {
    for (const ValueId id : block.parameters) define(id, by);
    for (const FlowStep& step : block.steps)
      for (const ValueId id : step.node.outputs) define(id, by);
  }

  template <class F>
  static void each_target(const FlowEnd& end, const F& f) {
    if (end.kind == FlowEnd::Kind::Leave) return;
    f(end.then);
    if (end.kind == FlowEnd::Kind::Branch) f(end.other);
  }
  void targets(const FlowBlock& block) const {
    each_target(block.end, [&](const FlowEnd::Target& target) {
      if (target.block <= 0 || static_cast<std::size_t>(target.block) >= flow_.blocks.size())
        fail(fmt::format("nothing may jump to block {}", target.block));
    });
  }

  // The values that are defined on every way to a block: what all blocks that jump to it have.
  void find_defined_at_beginnings() {
    at_beginning_.assign(flow_.blocks.size(), Defined(flow_.values.size(), true));
    at_beginning_[0].assign(flow_.values.size(), false);
    std::fill_n(at_beginning_[0].begin(), flow_.inputs.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
        const Defined at_end = defined_at_end(b);
        each_target(flow_.blocks[b].end, [&](const FlowEnd::Target& target) {
          Defined& next = at_beginning_[static_cast<std::size_t>(target.block)];
          for (std::size_t id = 0; id < next.size(); ++id) {
            changed = changed || (next[id] && !at_end[id]);
            next[id] = next[id] && at_end[id];
          }
        });
      }
    }
  }
  Defined defined_at_end(std::size_t b) const {
    Defined result = at_beginning_[b];
    const FlowBlock& block = flow_.blocks[b];
    for (const ValueId id : block.parameters) result[static_cast<std::size_t>(id)] = true;
    for (const FlowStep& step : block.steps)
      for (const ValueId id : step.node.outputs) result[static_cast<std::size_t>(id)] = true;
    return result;
  }

  // ---- Uses ----

  void use(const Operand& operand, const Defined& defined) const {
    if (operand.is_value() && (static_cast<std::size_t>(operand.value) >= defined.size() ||
                               !defined[static_cast<std::size_t>(operand.value)]))
      fail("value " + std::to_string(operand.value) + " is not defined on every way that leads to its use");
    const Dim* size = operand.is_number() ? std::get_if<Dim>(&operand.number) : nullptr;
    if (size != nullptr) use(std::set{*size}, defined);
  }
  template <class Sizes>
  void use(const Sizes& sizes, const Defined& defined) const {
    std::set<std::string> found;
    for (const Dim each : sizes) kiln::collect_symbols(each, found);
    use(found, defined);
  }
  void use(const std::set<std::string>& symbols, const Defined& defined) const {
    for (const std::string& each : symbols) {
      if (!flow_.hints.contains(each)) fail("the symbol " + each + " has no value among the hints");
      const std::optional<ValueId> number = number_of(each);
      if (!number) continue;
      use(Operand::of(*number), defined);
      if (!is_int(*number)) fail(each + " is no int");
    }
  }
  bool is_int(ValueId id) const {
    const Type& type = flow_.type(id);
    return type.is_number && type.dtype == DType::I64;
  }

  void exit(ExitId id, const Defined& defined) const {
    if (id < 0 || static_cast<std::size_t>(id) >= flow_.exits.size())
      fail(fmt::format("there is no exit {}", id));
    for (const Operand& each : flow_.exits[static_cast<std::size_t>(id)].values) use(each, defined);
  }

  void block(std::size_t b) {
    const FlowBlock& block = flow_.blocks[b];
    Defined defined = at_beginning_[b];
    for (const ValueId id : block.parameters) defined[static_cast<std::size_t>(id)] = true;
    if (block.interrupted != kCannotFail) exit(block.interrupted, defined);
    for (const FlowStep& each : block.steps) {
      step(each, defined);
      for (const ValueId id : each.node.outputs) defined[static_cast<std::size_t>(id)] = true;
    }
    end(block.end, defined);
  }

  void step(const FlowStep& step, const Defined& defined) const {
    const Node& node = step.node;
    for (const Operand& each : node.operands) use(each, defined);
    if (step.exit != kCannotFail) exit(step.exit, defined);
    std::set<std::string> symbols;
    collect_symbols(node.attrs, symbols);
    for (const SizeGuard& each : step.guards) {
      kiln::collect_symbols(each.a, symbols);
      kiln::collect_symbols(each.b, symbols);
    }
    use(symbols, defined);
    if (!step.guards.empty() && step.exit == kCannotFail) fail("a step with guards has no exit");
    types(node);
  }

  void types(const Node& node) const {
    if (node.op == &pop_op()) return;  // its value states the type
    Inferred inferred;
    try {
      inferred = infer_types(types_, node);
    } catch (const OpError& error) {
      fail(op_text(node) + ": " + error.message());
    }
    if (inferred.types.size() != node.outputs.size())
      fail(fmt::format("{} has {} results, its step {}", op_text(node), inferred.types.size(),
                       node.outputs.size()));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Type stated = flow_.type(node.outputs[k]);
      stated.strides.reset();
      inferred.types[k].strides.reset();
      if (same_type(stated, inferred.types[k])) continue;
      fail(fmt::format("{} is {}, the rule of {} gives {}", name(node.outputs[k]), to_string(stated),
                       op_text(node), to_string(inferred.types[k])));
    }
  }
  // Sizes that the rules express in another way are equal when they are so at the hints.
  bool same_type(const Type& a, const Type& b) const {
    return a == b || evaluate(a, flow_.hints) == evaluate(b, flow_.hints);
  }

  void end(const FlowEnd& end, const Defined& defined) const {
    if (end.kind == FlowEnd::Kind::Leave) return exit(end.exit, defined);
    if (end.kind == FlowEnd::Kind::Branch) {
      use(end.condition, defined);
      const Type type = operand_type(types_, end.condition);
      if (!type.is_number || type.dtype != DType::Bool) fail("a branch goes by no bool");
    }
    each_target(end, [&](const FlowEnd::Target& target) { arguments(target, defined); });
  }
  void arguments(const FlowEnd::Target& target, const Defined& defined) const {
    const FlowBlock& block = flow_.blocks[static_cast<std::size_t>(target.block)];
    if (target.arguments.size() != block.parameters.size())
      fail(fmt::format("block {} has {} parameters, {} arguments are given", target.block,
                       block.parameters.size(), target.arguments.size()));
    for (std::size_t k = 0; k < target.arguments.size(); ++k) {
      use(target.arguments[k], defined);
      const Type given = operand_type(types_, target.arguments[k]);
      const Type& wanted = flow_.type(block.parameters[k]);
      if (given == wanted) continue;
      fail(fmt::format("the parameter {} of block {} is {}, a {} is given", name(block.parameters[k]),
                       target.block, to_string(wanted), to_string(given)));
    }
  }

  const FlowGraph& flow_;
  std::vector<std::string> names_;
  Graph types_;  // of the values, for the rules
  std::vector<Defined> at_beginning_;
};

}  // namespace

std::string find_fault(const FlowGraph& flow) {
  try {
    Checker(flow).run();
  } catch (const std::string& fault) {
    return fault;
  }
  return {};
}

}  // namespace kiln::jit
