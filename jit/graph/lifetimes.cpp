#include "jit/graph/lifetimes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensor/backend.h"

namespace kiln::jit {
namespace {

// Does whoever runs the graph release the argument?
bool is_handed_over(const Graph& graph, const Input& input) {
  const bool may_be_backward = graph.stage == Stage::Backward || graph.stage == Stage::Fused;
  return may_be_backward && (input.role == Role::Saved || input.role == Role::Grad);
}

}  // namespace

Lifetimes::Lifetimes(const Graph& graph) : Lifetimes(graph, {}) {}

Lifetimes::Lifetimes(const Graph& graph, std::vector<int> when)
    : graph_(graph),
      when_(std::move(when)),
      shown_(graph.values.size()),
      buffer_(graph.values.size()),
      ours_(graph.values.size(), false),
      last_use_(graph.values.size(), kNever),
      last_read_(graph.values.size(), kNever),
      readers_(graph.values.size(), 0),
      released_(graph.values.size(), kNever) {
  std::iota(shown_.begin(), shown_.end(), 0);
  std::iota(buffer_.begin(), buffer_.end(), 0);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) ours_[i] = is_handed_over(graph, graph.inputs[i]);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    read(graph.nodes[i], this->when(static_cast<int>(i)));
    make(graph.nodes[i]);
  }
  for (const Operand& each : graph.outputs) read(each.value, kAfterNodes);
  for (const ValueId id : graph.saved) read(id, kAfterNodes);
  for (const Effect& each : graph.effects) {
    read(each.value, kAfterNodes);
    read(each.input, kAfterNodes);
  }
}

void Lifetimes::read(const Node& node, int when) {
  for (auto each = node.operands.begin(); each != node.operands.end(); ++each) {
    if (!each->is_value()) continue;
    const ValueId id = shown(each->value);
    const bool is_first = std::none_of(node.operands.begin(), each, [&](const Operand& before) {
      return before.is_value() && shown(before.value) == id;
    });
    if (is_first && last_read(id) < when) readers_[at(id)] = 0;
    read(each->value, when);
    if (is_first && last_read(id) == when) ++readers_[at(id)];
  }
}

// Of what runs in another order than that of the graph, the latest counts.
void Lifetimes::read(ValueId id, int when) {
  if (id < 0) return;
  for (int* const each : {&last_use_[at(id)], &last_read_[at(shown(id))], &released_[at(buffer(id))]})
    *each = std::max(*each, when);
}

bool Lifetimes::ends_with(ValueId id, int when) const {
  return last_read(shown(id)) == when && readers_[at(shown(id))] == 1;
}

void Lifetimes::make(const Node& node) {
  const bool views = node.is_view();
  // Of a graph that is still to be verified, operands may be missing.
  const bool is_whole = node.operands.size() > (node.writes_storage() ? 1U : 0U);
  const bool shares = (views || (node.writes() && is_whole)) && node.viewed().is_value();
  for (const ValueId id : node.outputs) {
    if (views) shown_[at(id)] = shown(node.operands[0].value);
    if (shares) buffer_[at(id)] = buffer_[at(node.viewed().value)];
    ours_[at(id)] = !views && !node.is_constant();
  }
}

bool Lifetimes::may_overwrite(int place) const {
  const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
  if (node.is_constant() || !is_direct(*node.op) || node.form == Form::Copy) return false;
  if (node.operands.empty() || !node.operands[0].is_value()) return false;
  const ValueId first = node.operands[0].value;
  const Type &before = graph_.values[at(first)].type, &after = graph_.values[at(node.outputs[0])].type;
  return ours_[at(first)] && last_read_[at(first)] == when(place) && !before.is_number && before == after &&
         is_alone_in(node, first);
}

bool Lifetimes::is_alone_in(const Node& node, ValueId contents) const {
  return std::none_of(node.operands.begin() + 1, node.operands.end(),
                      [&](const Operand& each) { return each.is_value() && shown(each.value) == contents; });
}

std::int64_t Lifetimes::peak_bytes() const {
  std::int64_t most = 0, now = 0;
  const std::size_t count = graph_.nodes.size();
  std::vector<std::int64_t> gone(count + 1, 0);  // after each node
  for (std::size_t n = 0; n < count; ++n) {
    for (const ValueId id : graph_.nodes[n].outputs) {
      if (buffer_[at(id)] != id) continue;
      now += bytes_of(id);
      gone[std::min(static_cast<std::size_t>(std::max(released_[at(id)], static_cast<int>(n))), count)] +=
          bytes_of(id);
    }
    most = std::max(most, now);
    now -= gone[n];
  }
  return most;
}

std::int64_t Lifetimes::bytes_of(ValueId id) const {
  const Type& type = graph_.values[at(id)].type;
  return count_elements(evaluate(type.sizes, graph_.hints)) * static_cast<std::int64_t>(size_of(type.dtype));
}

}  // namespace kiln::jit
