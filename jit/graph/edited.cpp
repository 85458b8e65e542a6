// When an edited graph may run in place of the graph that it was made of.
#include <fmt/format.h>

#include "jit/graph/edit.h"
#include "jit/graph/escape_analysis.h"
#include "jit/graph/rewrite.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

[[noreturn]] void refuse(std::string message, std::string help = {}) {
  throw OpError(ErrorKind::Value, std::move(message), {}, std::move(help));
}

// What the caller gets: outputs, then what effects write. kAbsent and kNumber for outputs that are no values.
std::vector<ValueId> results_of(const Graph& graph) {
  std::vector<ValueId> results;
  for (const Operand& each : graph.outputs) results.push_back(each.value);
  for (const Effect& each : graph.effects) results.push_back(each.value);
  return results;
}

void check_signature(const Graph& before, const Graph& made) {
  const auto type = [](const Graph& graph, ValueId id) {
    return graph.values[static_cast<std::size_t>(id)].type;
  };
  const auto differs = [&](ValueId a, ValueId b) {
    if ((a >= 0) != (b >= 0)) return true;
    if (a < 0) return false;
    const Type &was = type(before, a), &is = type(made, b);
    return was.dtype != is.dtype || was.device != is.device || was.is_number != is.is_number ||
           evaluate(was.sizes, before.hints) != evaluate(is.sizes, before.hints);
  };
  if (made.stage != before.stage || made.inputs.size() != before.inputs.size() ||
      made.outputs.size() != before.outputs.size() || made.effects.size() != before.effects.size() ||
      made.saved.size() != before.saved.size())
    refuse("it gave a graph with other inputs, outputs or effects than the one that it was given",
           "a pass gives its own graph, after edits");
  for (std::size_t i = 0; i < before.inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (differs(id, id)) refuse(fmt::format("input %{} has another type than before", before.values[i].name));
  }
  const std::vector<ValueId> was = results_of(before), is = results_of(made);
  for (std::size_t k = 0; k < was.size(); ++k) {
    if (differs(was[k], is[k])) refuse(fmt::format("result {} has another type than before", k + 1));
  }
}

// The value whose memory a value is a view of, by nodes that are views for sure.
ValueId viewed_by(const Graph& graph, const std::vector<int>& producers, ValueId id) {
  for (;;) {
    const int producer = producers[static_cast<std::size_t>(id)];
    if (producer < 0 || !graph.nodes[static_cast<std::size_t>(producer)].is_view()) return id;
    id = graph.nodes[static_cast<std::size_t>(producer)].operands[0].value;
  }
}

// What the caller can see of memory: which of these values share it.
class Sharing {
 public:
  explicit Sharing(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), escapes_(graph), results_(results_of(graph)) {}

  // Does result k share memory with `other`: an input, or counted from there the results?
  bool may_share(std::size_t k, std::size_t other) const {
    return both(k, other) && escapes_.may_share_memory(results_[k], value(other));
  }
  bool shares_for_sure(std::size_t k, std::size_t other) const {
    return both(k, other) &&
           viewed_by(graph_, producers_, results_[k]) == viewed_by(graph_, producers_, value(other));
  }

 private:
  ValueId value(std::size_t other) const {
    return other < graph_.inputs.size() ? static_cast<ValueId>(other)
                                        : results_[other - graph_.inputs.size()];
  }
  bool both(std::size_t k, std::size_t other) const { return results_[k] >= 0 && value(other) >= 0; }

  const Graph& graph_;
  std::vector<int> producers_;
  EscapeAnalysis escapes_;
  std::vector<ValueId> results_;
};

// By result: must it be copied, because it shares memory only since the edits?
std::vector<bool> shared_anew(const Graph& before, const Graph& made) {
  const Sharing was(before), is(made);
  const std::size_t inputs = before.inputs.size();
  std::vector<bool> copied(before.outputs.size() + before.effects.size(), false);
  for (std::size_t k = 0; k < copied.size(); ++k) {
    for (std::size_t other = 0; other < inputs + k; ++other) {
      if (was.shares_for_sure(k, other) && !is.may_share(k, other)) {
        refuse(fmt::format("result {} shares memory with another tensor of the call, and would not any more",
                           k + 1),
               "views that the call returns stay as they are");
      }
      copied[k] = copied[k] || (is.may_share(k, other) && !was.may_share(k, other));
    }
  }
  return copied;
}

}  // namespace

Graph standing_for(const Graph& before, const Graph& made) {
  check_signature(before, made);
  const std::vector<bool> copied = shared_anew(before, made);
  Rewriter copy(made);
  for (const Node& node : made.nodes) copy.copy(node);
  const std::vector<ValueId> results = results_of(made);
  std::vector<ValueId> now = results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (copied[k]) now[k] = copy.apply(core_ops().clone, {Operand::of(copy.at(results[k]))}, {}, Node{})[0];
  }
  Graph whole = copy.finish();
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!copied[k]) continue;
    if (k < whole.outputs.size()) {
      whole.outputs[k] = Operand::of(now[k]);
    } else {
      whole.effects[k - whole.outputs.size()].value = now[k];
    }
  }
  return whole;
}

}  // namespace kiln::jit
