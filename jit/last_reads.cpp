#include "jit/last_reads.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kiln::jit {
namespace {

constexpr int kAfterNodes = std::numeric_limits<int>::max();

// Does whoever runs the graph release the argument?
bool is_handed_over(const Graph& graph, const Input& input) {
  const bool may_be_backward = graph.stage == Stage::Backward || graph.stage == Stage::Fused;
  return may_be_backward && (input.role == Role::Saved || input.role == Role::Grad);
}

}  // namespace

LastReads::LastReads(const Graph& graph)
    : graph_(graph),
      memories_(graph.values.size()),
      ours_(graph.values.size(), false),
      last_read_(graph.values.size(), -1) {
  std::iota(memories_.begin(), memories_.end(), 0);
  const auto read = [this](ValueId id, int when) {
    if (id >= 0) last_read_[static_cast<std::size_t>(memory(id))] = when;
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) ours_[i] = is_handed_over(graph, graph.inputs[i]);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const Operand& each : node.operands) read(each.value, static_cast<int>(i));
    const bool views = node.is_view();
    for (const ValueId id : node.outputs) {
      if (views) memory(id) = memory(node.operands[0].value);
      ours_[static_cast<std::size_t>(id)] = !views && !node.is_constant();
    }
  }
  for (const Operand& each : graph.outputs) read(each.value, kAfterNodes);
  for (const ValueId id : graph.saved) read(id, kAfterNodes);
  for (const Effect& each : graph.effects) {
    read(each.value, kAfterNodes);
    read(each.input, kAfterNodes);
  }
}

bool LastReads::may_overwrite(int place) const {
  const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
  if (node.is_constant() || node.op->into == nullptr || node.form == Form::Copy) return false;
  if (node.operands.empty() || !node.operands[0].is_value()) return false;
  const ValueId first = node.operands[0].value;
  const auto at = static_cast<std::size_t>(first);
  const Type &before = graph_.values[at].type,
             &after = graph_.values[static_cast<std::size_t>(node.outputs[0])].type;
  return ours_[at] && last_read_[at] == place && !before.is_number && before == after &&
         is_alone_in(node, first);
}

bool LastReads::is_alone_in(const Node& node, ValueId memory_of_first) const {
  return std::none_of(node.operands.begin() + 1, node.operands.end(), [&](const Operand& each) {
    return each.is_value() && memory(each.value) == memory_of_first;
  });
}

}  // namespace kiln::jit
