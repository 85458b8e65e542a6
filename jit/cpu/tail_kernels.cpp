#include "jit/cpu/tail_kernels.h"

#include <algorithm>

namespace kiln::jit {
namespace {

// Results up to this size may wait for the end of the graph: until then their kernels' operands stay in
// memory.
constexpr std::int64_t kSmallBytes = 64 * 1024;

class Finder {
 public:
  Finder(const Graph& graph, const EscapeAnalysis& escapes)
      : graph_(graph),
        escapes_(escapes),
        is_read_(graph.values.size(), false),
        is_written_(graph.values.size(), false),
        needs_(graph.values.size(), 0) {
    tail_.kernels.assign(graph.nodes.size(), nullptr);
    tail_.over.assign(graph.values.size(), Operand::kAbsent);
  }

  TailKernels run() {
    for (const Node& node : graph_.nodes) {
      for (const Operand& each : node.operands) {
        if (each.is_value()) is_read_[static_cast<std::size_t>(each.value)] = true;
      }
      if (node.writes()) is_written_[memory(node.operands[0].value)] = true;
    }
    std::vector<std::size_t> places;  // of candidates
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      tail_.kernels[i] = candidate(graph_.nodes[i]);
      if (tail_.kernels[i] != nullptr) places.push_back(i);
    }
    find_needs(places);
    for (const Effect& each : graph_.effects) write_over(each);
    for (const std::size_t i : places) {
      if (!may_wait(graph_.nodes[i])) tail_.kernels[i] = nullptr;
    }
    return std::move(tail_);
  }

 private:
  const ElementwiseKernel* candidate(const Node& node) const {
    if (node.is_constant()) return nullptr;
    const ElementwiseKernel* const kernel = elementwise_kernel_of(*node.op);
    if (kernel == nullptr || !kernel->is_plain()) return nullptr;
    const bool is_last = std::none_of(node.outputs.begin(), node.outputs.end(),
                                      [this](ValueId id) { return is_read_[static_cast<std::size_t>(id)]; });
    // At the end of the graph, an operand that a node has written has other elements than the kernel must
    // read.
    const bool may_wait = std::none_of(
        node.operands.begin(), node.operands.end(),
        [this](const Operand& each) { return each.is_value() && is_written_[memory(each.value)]; });
    return is_last && may_wait ? kernel : nullptr;
  }

  // By memory: how many candidates, results and effects need its elements at the end.
  void find_needs(const std::vector<std::size_t>& places) {
    for (const std::size_t i : places) {
      std::vector<ValueId> read;
      for (const Operand& each : graph_.nodes[i].operands) {
        if (!each.is_value()) continue;
        const ValueId memory = escapes_.memory(each.value);
        if (std::find(read.begin(), read.end(), memory) == read.end()) read.push_back(memory);
      }
      for (const ValueId each : read) ++needs_[static_cast<std::size_t>(each)];
    }
    for (const Operand& each : graph_.outputs) {
      if (each.is_value()) need(each.value);
    }
    for (const ValueId each : graph_.saved) need(each);
    for (const Effect& each : graph_.effects) {
      need(each.input);
      need(each.value);
    }
  }
  void need(ValueId id) { ++needs_[memory(id)]; }
  int needs(ValueId id) const { return needs_[memory(id)]; }
  std::size_t memory(ValueId id) const { return static_cast<std::size_t>(escapes_.memory(id)); }

  // The kernel may write into the input where only this effect needs the input, and the kernel itself at
  // most.
  void write_over(const Effect& effect) {
    if (effect.kind != Effect::Kind::Write || effect.member >= 0 || !graph_.is_input(effect.input)) return;
    const Node* const maker = maker_of(effect.value);
    if (maker == nullptr || !graph_.inputs[static_cast<std::size_t>(effect.input)].members.empty()) return;
    const bool reads_it =
        std::any_of(maker->operands.begin(), maker->operands.end(), [&](const Operand& each) {
          return each.is_value() && escapes_.may_share_memory(each.value, effect.input);
        });
    if (needs(effect.input) == (reads_it ? 2 : 1))
      tail_.over[static_cast<std::size_t>(effect.value)] = effect.input;
  }
  // The candidate that makes the value; null: none.
  const Node* maker_of(ValueId id) {
    if (producers_.empty()) producers_ = graph_.producers();
    const int place = producers_[static_cast<std::size_t>(id)];
    const bool is_tail = place >= 0 && tail_.kernels[static_cast<std::size_t>(place)] != nullptr;
    return is_tail ? &graph_.nodes[static_cast<std::size_t>(place)] : nullptr;
  }

  bool may_wait(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) {
      const Type& type = graph_.values[static_cast<std::size_t>(id)].type;
      const std::int64_t bytes =
          count_elements(evaluate(type.sizes, graph_.hints)) * static_cast<std::int64_t>(size_of(type.dtype));
      return tail_.over[static_cast<std::size_t>(id)] != Operand::kAbsent || bytes <= kSmallBytes;
    });
  }

  const Graph& graph_;
  const EscapeAnalysis& escapes_;
  std::vector<bool> is_read_;
  std::vector<bool> is_written_;  // by memory: by a node
  std::vector<int> needs_;        // by memory
  std::vector<int> producers_;
  TailKernels tail_;
};

}  // namespace

TailKernels find_tail_kernels(const Graph& graph, const EscapeAnalysis& escapes) {
  return Finder(graph, escapes).run();
}

}  // namespace kiln::jit
