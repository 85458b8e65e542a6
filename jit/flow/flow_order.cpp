// Where the tape would add gradients in another order.
#include <fmt/format.h>

#include <set>

#include "jit/flow/flow_outputs.h"
#include "jit/flow/flow_reach.h"

namespace kiln::jit {
namespace {

std::string text_of(const FlowGraph& flow, ValueId id) {
  const std::string& name = flow.values[static_cast<std::size_t>(id)].name;
  return name.empty() ? "a tensor" : "`" + name + "`";
}

class OrderChecks {
 public:
  OrderChecks(const FlowGraph& flow, const FlowActivity& activity) : flow_(flow), activity_(activity) {}

  void run() {
    for (const FlowBlock& block : flow_.blocks) {
      for (const ValueId each : block.parameters) parameter(each);
      for (const FlowStep& step : block.steps) {
        cut(step.node);
        for (const ValueId each : step.node.outputs) result(each);
      }
      each_target(block.end, [this](const FlowEnd::Target& target) { jump(target); });
    }
  }

 private:
  void parameter(ValueId id) const {
    if (activity_.is_active(id) && activity_.is_written(id))
      refuse_flow("a tensor that the loop carries is written in it");
    if (activity_.is_active(id)) check_size(id);
  }
  // Views that end a history know no base, and those of flows do.
  void cut(const Node& node) const {
    if (node.is_constant()) return;
    // What is drawn once cannot be drawn again where the loop is run again.
    if (node.op->draws()) refuse_flow("random numbers are drawn in the loop");
    if (!node.is_view() || !node.op->has(kStopsGradient)) return;
    if (activity_.is_active(node.operands[0]))
      refuse_flow(fmt::format("`{}` ends gradients in the loop", node.op->name()));
  }
  void result(ValueId id) const {
    if (!activity_.is_active(id) || !activity_.is_in_memory(id) || activity_.tensor(id) != id) return;
    if (activity_.view(id) != nullptr && activity_.is_written(id))
      refuse_flow(
          fmt::format("a view is kept of {}, which the loop writes", text_of(flow_, activity_.root(id))));
    check_size(id);
  }
  void check_size(ValueId id) const {
    std::set<std::string> symbols;
    for (const Dim each : flow_.type(id).sizes) kiln::collect_symbols(each, symbols);
    for (const std::string& each : symbols)
      if (!is_of_inputs(flow_, each))
        refuse_flow("a tensor whose size varies is read in an inner loop or behind the loop");
  }

  // Of a tensor that goes on under the name of a parameter, all later gradients come by that name.
  void jump(const FlowEnd::Target& target) const {
    std::set<ValueId> seen;
    const std::vector<ValueId>& parameters = flow_.blocks[static_cast<std::size_t>(target.block)].parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (!activity_.is_active(target.arguments[k])) continue;
      const ValueId given = activity_.tensor(target.arguments[k].value);
      if (given == parameters[k]) continue;
      if (!seen.insert(given).second || is_read_behind(given, target, k))
        refuse_flow(fmt::format("{} is read under two names in the loop", text_of(flow_, given)));
    }
  }
  bool shows(const Operand& operand, ValueId tensor) const {
    if (!activity_.is_active(operand)) return false;
    for (ValueId id = activity_.tensor(operand.value);;) {
      if (id == tensor) return true;
      const Node* const view = activity_.view(id);
      if (view == nullptr) return false;
      id = activity_.tensor(view->operands[0].value);
    }
  }
  bool is_read_behind(ValueId tensor, const FlowEnd::Target& from, std::size_t argument) const {
    std::vector<BlockId> left{from.block};
    std::set<BlockId> seen;
    while (!left.empty()) {
      const BlockId block = left.back();
      left.pop_back();
      const bool is_made_here =
          static_cast<std::size_t>(block) == activity_.made_in(tensor) && !is_input(tensor);
      if (is_made_here || !seen.insert(block).second) continue;
      const FlowBlock& made = flow_.blocks[static_cast<std::size_t>(block)];
      if (is_read_in(made, tensor, from, argument)) return true;
      each_target(made.end, [&](const FlowEnd::Target& target) { left.push_back(target.block); });
    }
    return false;
  }
  bool is_input(ValueId id) const { return static_cast<std::size_t>(id) < flow_.inputs.size(); }
  bool is_read_in(const FlowBlock& block, ValueId tensor, const FlowEnd::Target& from,
                  std::size_t argument) const {
    const auto any = [&](const std::vector<Operand>& operands) {
      for (const Operand& each : operands)
        if (shows(each, tensor)) return true;
      return false;
    };
    for (const FlowStep& step : block.steps)
      if (any(step.node.operands)) return true;
    if (block.end.kind == FlowEnd::Kind::Leave)
      return any(flow_.exits[static_cast<std::size_t>(block.end.exit)].values);
    bool found = false;
    each_target(block.end, [&](const FlowEnd::Target& target) {
      for (std::size_t k = 0; k < target.arguments.size(); ++k) {
        const bool is_again = target.block == from.block && k == argument;
        found = found || (!is_again && shows(target.arguments[k], tensor));
      }
    });
    return found;
  }

  const FlowGraph& flow_;
  const FlowActivity& activity_;
};

}  // namespace

bool is_of_inputs(const FlowGraph& flow, const std::string& symbol) {
  const std::optional<ValueId> number = number_of(symbol);
  return !number || static_cast<std::size_t>(*number) < flow.inputs.size();
}

void check_order(const FlowGraph& flow, const FlowActivity& activity) { OrderChecks(flow, activity).run(); }

}  // namespace kiln::jit
