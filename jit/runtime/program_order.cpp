#include "jit/runtime/program_order.h"

#include <algorithm>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/graph/collectives.h"
#include "jit/graph/product_before.h"

namespace kiln::jit {
namespace {

// Results up to this size may wait for the end of the graph: until then their kernels' operands stay in
// memory.
constexpr std::int64_t kSmallBytes = 64 * 1024;

// The kernel that the node is, if it cannot fail and does nothing but compute elements.
const ElementwiseKernel* plain_kernel(const Node& node) {
  const ElementwiseKernel* const kernel = node.is_constant() ? nullptr : elementwise_kernel_of(*node.op);
  return kernel != nullptr && kernel->is_plain() ? kernel : nullptr;
}

// ---- The launch ----

struct Launched {
  std::vector<bool> nodes;
  std::vector<ValueId> over;  // as in ProgramOrder
};

class LaunchFinder {
 public:
  LaunchFinder(const Graph& graph, const EscapeAnalysis& escapes)
      : graph_(graph),
        escapes_(escapes),
        is_read_(graph.values.size(), false),
        is_written_(graph.values.size(), false),
        needs_(graph.values.size(), 0) {
    launched_.nodes.assign(graph.nodes.size(), false);
    launched_.over.assign(graph.values.size(), Operand::kAbsent);
  }

  Launched run() {
    for (const Node& node : graph_.nodes) {
      for (const Operand& each : node.operands) {
        if (each.is_value()) is_read_[static_cast<std::size_t>(each.value)] = true;
      }
      if (node.writes()) is_written_[memory(node.operands[0].value)] = true;
    }
    std::vector<std::size_t> places;  // of candidates
    for (std::size_t i = behind_last_wait(); i < graph_.nodes.size(); ++i) {
      launched_.nodes[i] = is_candidate(graph_.nodes[i]);
      if (launched_.nodes[i]) places.push_back(i);
    }
    find_needs(places);
    for (const Effect& each : graph_.effects) write_over(each);
    for (const std::size_t i : places) {
      if (!may_wait(graph_.nodes[i])) launched_.nodes[i] = false;
    }
    return std::move(launched_);
  }

 private:
  // What comes before a wait for other ranks is computed before it, while they go on.
  std::size_t behind_last_wait() const {
    const auto last = std::find_if(graph_.nodes.rbegin(), graph_.nodes.rend(), blocks);
    return static_cast<std::size_t>(last.base() - graph_.nodes.begin());
  }

  bool is_candidate(const Node& node) const {
    if (plain_kernel(node) == nullptr) return false;
    const bool is_last = std::none_of(node.outputs.begin(), node.outputs.end(),
                                      [this](ValueId id) { return is_read_[static_cast<std::size_t>(id)]; });
    // At the end of the graph, an operand that a node has written has other elements than the kernel must
    // read.
    const bool may_wait = std::none_of(
        node.operands.begin(), node.operands.end(),
        [this](const Operand& each) { return each.is_value() && is_written_[memory(each.value)]; });
    return is_last && may_wait;
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
      launched_.over[static_cast<std::size_t>(effect.value)] = effect.input;
  }
  // The candidate that makes the value; null: none.
  const Node* maker_of(ValueId id) {
    if (producers_.empty()) producers_ = graph_.producers();
    const int place = producers_[static_cast<std::size_t>(id)];
    const bool is_candidate = place >= 0 && launched_.nodes[static_cast<std::size_t>(place)];
    return is_candidate ? &graph_.nodes[static_cast<std::size_t>(place)] : nullptr;
  }

  bool may_wait(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) {
      const Type& type = graph_.values[static_cast<std::size_t>(id)].type;
      const std::int64_t bytes =
          count_elements(evaluate(type.sizes, graph_.hints)) * static_cast<std::int64_t>(size_of(type.dtype));
      return launched_.over[static_cast<std::size_t>(id)] != Operand::kAbsent || bytes <= kSmallBytes;
    });
  }

  const Graph& graph_;
  const EscapeAnalysis& escapes_;
  std::vector<bool> is_read_;
  std::vector<bool> is_written_;  // by memory: by a node
  std::vector<int> needs_;        // by memory
  std::vector<int> producers_;
  Launched launched_;
};

// ---- Products ----

// By node: the product of which the kernel takes pieces; -1: none.
std::vector<int> find_products(const Graph& graph, const Launched& launched) {
  const ProductsBefore before(graph);
  std::vector<int> products(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ElementwiseKernel* const kernel = plain_kernel(graph.nodes[i]);
    if (kernel != nullptr && !launched.nodes[i] && kernel->computes_all())
      products[i] = before.of(static_cast<int>(i));
  }
  return products;
}

}  // namespace

ProgramOrder order_of(const Graph& graph, const EscapeAnalysis& escapes) {
  Launched launched = LaunchFinder(graph, escapes).run();
  const std::vector<int> products = find_products(graph, launched);
  std::vector<bool> waits = launched.nodes;
  for (const int each : products) {
    if (each >= 0) waits[static_cast<std::size_t>(each)] = true;
  }
  ProgramOrder order{{}, 0, {}, std::move(launched.over)};
  const auto add = [&order](int place, bool feeds_next) {
    order.nodes.push_back(place);
    order.feeds_next.push_back(feeds_next);
  };
  const int count = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (waits[at]) continue;
    if (products[at] >= 0) add(products[at], true);
    add(i, false);
  }
  order.launch = order.nodes.size();
  for (int i = 0; i < count; ++i) {
    if (launched.nodes[static_cast<std::size_t>(i)]) add(i, false);
  }
  return order;
}

}  // namespace kiln::jit
