#include "jit/peak.h"

#include <algorithm>
#include <vector>

namespace kiln::jit {
namespace {

class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), last_read_(graph.values.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const Operand& each : graph.nodes[n].operands) read(each.value, static_cast<int>(n));
    }
    const int end = static_cast<int>(graph.nodes.size());
    for (const Operand& each : graph.outputs) read(each.value, end);
    for (const Effect& each : graph.effects) read(each.value, end);
    for (const ValueId id : graph.saved) read(id, end);
  }

  std::int64_t peak() const {
    std::int64_t most = 0, now = 0;
    std::vector<std::int64_t> gone(graph_.nodes.size() + 1, 0);  // after each node
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId id : graph_.nodes[n].outputs) {
        if (memory_of(id) != id) continue;
        now += bytes_of(id);
        gone[static_cast<std::size_t>(std::max(last_read_[place(id)], static_cast<int>(n)))] += bytes_of(id);
      }
      most = std::max(most, now);
      now -= gone[n];
    }
    return most;
  }

 private:
  static std::size_t place(ValueId id) { return static_cast<std::size_t>(id); }
  void read(ValueId id, int reader) {
    if (id < 0) return;
    int& last = last_read_[place(memory_of(id))];
    last = std::max(last, reader);
  }
  // The value whose memory a view shows.
  ValueId memory_of(ValueId id) const {
    const int made_by = producers_[place(id)];
    if (made_by < 0) return id;
    const Node& node = graph_.nodes[static_cast<std::size_t>(made_by)];
    const bool has_own = (!node.is_view() && !node.writes()) || !node.viewed().is_value();
    return has_own ? id : memory_of(node.viewed().value);
  }
  std::int64_t bytes_of(ValueId id) const {
    const Type& type = graph_.values[place(id)].type;
    return count_elements(evaluate(type.sizes, graph_.hints)) *
           static_cast<std::int64_t>(size_of(type.dtype));
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<int> last_read_;  // of what has memory: the node, or their number for what the caller gets
};

}  // namespace

std::int64_t peak_bytes(const Graph& graph) { return Lifetimes(graph).peak(); }

}  // namespace kiln::jit
