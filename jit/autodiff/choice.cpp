#include "jit/autodiff/choice.h"

#include <algorithm>

#include "jit/autodiff/max_flow.h"
#include "jit/graph/custom.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

// Reductions of fewer elements than this are cheap to recompute.
constexpr std::int64_t kLargeReduction = 4096;
// The most cheap ops in a row that are recomputed.
constexpr int kLongestChain = 16;

std::int64_t elements(const Type& type, const SymbolValues& hints) {
  return count_elements(evaluate(type.sizes, hints));
}

template <class F>
void each_value(const Node& node, const F& f) {
  for (const Operand& each : node.operands) {
    if (each.is_value()) f(each.value);
  }
}

// Costly nodes are recomputed only for a reason. Random draws, collectives and functions of the program
// never are.
bool is_costly(RecomputeCost kind) {
  return kind == RecomputeCost::Reduction || kind == RecomputeCost::Library ||
         kind == RecomputeCost::Gather || kind == RecomputeCost::Chain;
}

}  // namespace

// ---- Facts ----

JointFacts::JointFacts(const Joint& joint)
    : graph(joint.graph), outputs(joint.outputs), given(joint.incoming), producers(graph.producers()) {
  find_dependence();
  find_needed(joint.program_nodes.value_or(graph.nodes.size()));
  find_memory();
  find_costs();
}

const Node* JointFacts::producer(ValueId id) const {
  return producers[as_index(id)] < 0 ? nullptr
                                     : &graph.nodes[static_cast<std::size_t>(producers[as_index(id)])];
}

std::vector<bool> JointFacts::acting() const {
  std::vector<bool> nodes(graph.nodes.size(), false);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::vector<ValueId>& outputs_of = graph.nodes[n].outputs;
    nodes[n] = backward_nodes[n] && !outputs_of.empty() && of_gradient[as_index(outputs_of[0])];
  }
  return nodes;
}

void JointFacts::find_dependence() {
  of_gradient.assign(graph.values.size(), false);
  for (std::size_t i = graph.inputs.size() - given; i < graph.inputs.size(); ++i) of_gradient[i] = true;
  for (const Node& node : graph.nodes) {
    bool depends = false;
    each_value(node, [&](ValueId id) { depends = depends || of_gradient[as_index(id)]; });
    for (const ValueId id : node.outputs) of_gradient[as_index(id)] = depends;
  }
}

// A node with an effect runs in the graph it belongs to: an error of the derivative is raised by backward.
void JointFacts::find_needed(std::size_t program_nodes) {
  std::vector<bool> forward(graph.values.size(), false);
  wanted.assign(graph.values.size(), false);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    if (!graph.outputs[k].is_value()) continue;
    (static_cast<int>(k) < outputs ? forward : wanted)[as_index(graph.outputs[k].value)] = true;
  }
  for (const Effect& each : graph.effects) forward[as_index(each.value)] = true;
  forward_nodes.assign(graph.nodes.size(), false);
  backward_nodes.assign(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool depends = !node.outputs.empty() && of_gradient[as_index(node.outputs[0])];
    const bool acts = must_run(graph, node);
    const auto any = [&node](const std::vector<bool>& marks) {
      return std::any_of(node.outputs.begin(), node.outputs.end(),
                         [&](ValueId id) { return marks[as_index(id)]; });
    };
    const bool derives = depends || n >= program_nodes;
    forward_nodes[n] = !depends && ((acts && !derives) || any(forward));
    backward_nodes[n] = (acts && derives) || any(wanted);
    each_value(node, [&](ValueId id) {
      if (forward_nodes[n]) forward[as_index(id)] = true;
      if (backward_nodes[n]) wanted[as_index(id)] = true;
    });
  }
}

void JointFacts::find_memory() {
  std::vector<bool> written(graph.inputs.size(), false);
  for (const Effect& each : graph.effects) {
    if (each.kind != Effect::Kind::Same) written[static_cast<std::size_t>(each.input)] = true;
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Type& type = graph.values[v].type;
    bytes.push_back(elements(type, graph.hints) * static_cast<std::int64_t>(size_of(type.dtype)));
    const Node* node = producer(static_cast<ValueId>(v));
    root.push_back(node != nullptr && node->is_view() ? root[as_index(node->operands[0].value)]
                                                      : static_cast<ValueId>(v));
    const auto base = as_index(root.back());
    read_by_place.push_back(false);
    if (node != nullptr && node->is_view() && node->counts_places()) {
      read_by_place[as_index(node->operands[0].value)] = true;
    }
    overwritten.push_back(base < graph.inputs.size() && written[base]);
  }
}

void JointFacts::find_costs() {
  std::vector<int> chain(graph.values.size(), 0);  // cheap ops in a row that end here
  for (const Node& node : graph.nodes) {
    int length = 0;
    std::int64_t read = 0;
    each_value(node, [&](ValueId id) {
      length = std::max(length, chain[as_index(id)]);
      read = std::max(read, elements(graph.values[as_index(id)].type, graph.hints));
    });
    RecomputeCost kind = RecomputeCost::Library;
    if (!node.is_constant() && custom_function(*node.op) != nullptr) {
      kind = RecomputeCost::Own;
    } else if (node.is_constant() || node.is_view()) {
      kind = RecomputeCost::Free;
    } else if (node.op->communicates()) {
      kind = RecomputeCost::Collective;
    } else if (node.op->is_ordered()) {
      kind = RecomputeCost::Random;
    } else if (node.op->lowering == Lowering::Create) {
      kind = RecomputeCost::Free;
    } else if (node.op->lowering == Lowering::Reduce) {
      kind = read < kLargeReduction ? RecomputeCost::Cheap : RecomputeCost::Reduction;
    } else if (node.op->lowering == Lowering::Pointwise || node.op->has(kCheapToRecompute) ||
               node.form == Form::Copy) {
      kind = RecomputeCost::Cheap;
    } else if (node.op->lowering == Lowering::Gather || node.op->lowering == Lowering::Scatter) {
      kind = RecomputeCost::Gather;
    }
    if (kind == RecomputeCost::Cheap && ++length > kLongestChain) kind = RecomputeCost::Chain;
    if (is_costly(kind) && node.place.in_checkpoint) kind = RecomputeCost::Checkpoint;
    const bool goes_on =
        kind == RecomputeCost::Cheap || kind == RecomputeCost::Free || kind == RecomputeCost::Checkpoint;
    for (const ValueId id : node.outputs) chain[as_index(id)] = goes_on ? length : 0;
    recompute.push_back(kind);
  }
}

std::vector<ValueId> JointFacts::read_by_derivative() const {
  std::set<ValueId> found;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!backward_nodes[n] || forward_nodes[n]) continue;
    each_value(graph.nodes[n], [&](ValueId id) {
      const int from = producers[as_index(id)];
      const bool of_program = from < 0 || forward_nodes[static_cast<std::size_t>(from)];
      if (!of_gradient[as_index(id)] && of_program) found.insert(id);
    });
  }
  for (std::size_t k = static_cast<std::size_t>(outputs); k < graph.outputs.size(); ++k) {
    const Operand& each = graph.outputs[k];
    if (!each.is_value() || of_gradient[as_index(each.value)]) continue;
    const int from = producers[as_index(each.value)];
    if (from < 0 || forward_nodes[static_cast<std::size_t>(from)]) found.insert(each.value);
  }
  return {found.begin(), found.end()};
}

// ---- Choices ----

bool keeps_copy(const JointFacts& facts, ValueId id) {
  const Node* node = facts.producer(id);
  return facts.overwritten[as_index(id)] || (node != nullptr && node->is_view());
}

Type kept_type(const JointFacts& facts, ValueId id) {
  Type type = facts.graph.values[as_index(id)].type;
  if (keeps_copy(facts, id)) type.strides.reset();
  return type;
}

std::int64_t bytes_of(const JointFacts& facts, const std::vector<ValueId>& saved) {
  std::int64_t total = 0;
  for (const ValueId id : saved) total += facts.bytes[as_index(id)];
  return total;
}

Choice choose_all(const JointFacts& facts) {
  std::set<ValueId> roots;
  for (const ValueId id : facts.read_by_derivative()) {
    const ValueId root = facts.root[as_index(id)];
    const Node* made = facts.producer(root);
    if (made == nullptr || !made->is_constant()) roots.insert(root);
  }
  return {{roots.begin(), roots.end()}, {}};
}

namespace {

// A flow network in which each value is an edge whose capacity is its bytes: a cut edge is a saved value.
// Values that are not recomputed connect to the source, values that the derivative reads to the sink, both
// without limit.
class SavedCut {
 public:
  SavedCut(const JointFacts& facts, const std::set<int>& lifted)
      : facts_(facts), lifted_(lifted), network_(2 * static_cast<int>(facts.graph.values.size()) + 2) {
    for (ValueId id = 0; id < static_cast<ValueId>(facts.graph.values.size()); ++id) {
      if (facts.wanted[as_index(id)] && !facts.of_gradient[as_index(id)]) add(id);
    }
    for (std::size_t n = 0; n < facts.graph.nodes.size(); ++n) {
      const Node& node = facts.graph.nodes[n];
      const bool derives =
          facts.backward_nodes[n] && !node.outputs.empty() && facts.of_gradient[as_index(node.outputs[0])];
      if (!derives) continue;
      each_value(node, [&](ValueId id) {
        if (!facts.of_gradient[as_index(id)]) network_.connect(out(id), sink(), FlowNetwork::kUnlimited);
      });
    }
    for (std::size_t k = static_cast<std::size_t>(facts.outputs); k < facts.graph.outputs.size(); ++k) {
      const Operand& each = facts.graph.outputs[k];
      if (each.is_value() && !facts.of_gradient[as_index(each.value)]) {
        network_.connect(out(each.value), sink(), FlowNetwork::kUnlimited);
      }
    }
  }

  std::vector<ValueId> run() {
    if (network_.maximum(source(), sink()) >= FlowNetwork::kUnlimited) {
      throw InternalError("graph " + facts_.graph.name +
                          ": backward needs what can be neither kept nor computed");
    }
    const std::vector<bool> beyond = network_.beyond_cut(sink());
    std::vector<ValueId> saved;
    for (ValueId id = 0; id < static_cast<ValueId>(facts_.graph.values.size()); ++id) {
      if (!beyond[static_cast<std::size_t>(in(id))] && beyond[static_cast<std::size_t>(out(id))]) {
        saved.push_back(id);
      }
    }
    return saved;
  }

 private:
  static int in(ValueId id) { return 2 * id; }
  static int out(ValueId id) { return 2 * id + 1; }
  int source() const { return 2 * static_cast<int>(facts_.graph.values.size()); }
  int sink() const { return source() + 1; }

  void add(ValueId id) {
    const int n = facts_.producers[as_index(id)];
    network_.connect(in(id), out(id), capacity(id));
    if (n < 0 || (facts_.forward_nodes[static_cast<std::size_t>(n)] && stays(n))) {
      network_.connect(source(), in(id), FlowNetwork::kUnlimited);
      return;
    }
    each_value(facts_.graph.nodes[static_cast<std::size_t>(n)],
               [&](ValueId operand) { network_.connect(out(operand), in(id), FlowNetwork::kUnlimited); });
  }

  bool stays(int n) const {
    const RecomputeCost kind = facts_.recompute[static_cast<std::size_t>(n)];
    const bool is_cheap =
        kind == RecomputeCost::Free || kind == RecomputeCost::Cheap || kind == RecomputeCost::Checkpoint;
    return !is_cheap && !lifted_.contains(n);
  }

  // Among values of equal bytes, those that are kept anyway come first, then those that the program computes.
  std::int64_t capacity(ValueId id) const {
    constexpr std::int64_t kScale = 1024;
    const Node* node = facts_.producer(id);
    const bool is_view = node != nullptr && node->is_view();
    if (node != nullptr && node->is_constant()) return FlowNetwork::kUnlimited;
    // A view costs nothing once its root is kept; only a smaller part is worth a copy.
    if (is_view && (facts_.bytes[as_index(id)] >= facts_.bytes[as_index(facts_.root[as_index(id)])] ||
                    facts_.read_by_place[as_index(id)])) {
      return FlowNetwork::kUnlimited;
    }
    const auto& outputs = facts_.graph.outputs;
    const bool returned = std::find(outputs.begin(), outputs.begin() + facts_.outputs, Operand::of(id)) !=
                          outputs.begin() + facts_.outputs;
    std::int64_t extra = node == nullptr ? 0 : returned ? 1 : 2;
    if (node != nullptr && !facts_.forward_nodes[static_cast<std::size_t>(facts_.producers[as_index(id)])]) {
      // A value of the derivative that forward computes has no history for a gradient of the gradient.
      if (is_differentiable(facts_.graph.values[as_index(id)].type.dtype)) return FlowNetwork::kUnlimited;
      extra = 4;
    }
    if (keeps_copy(facts_, id)) extra = 3;
    return facts_.bytes[as_index(id)] * kScale + extra;
  }

  const JointFacts& facts_;
  const std::set<int>& lifted_;
  FlowNetwork network_;
};

// An estimate of the work of recomputing the node.
double work(const JointFacts& facts, int n) {
  const Node& node = facts.graph.nodes[static_cast<std::size_t>(n)];
  double most = 0;
  for (const ValueId id : node.outputs) {
    most += static_cast<double>(elements(facts.graph.values[as_index(id)].type, facts.graph.hints));
  }
  std::int64_t read = 0, row = 1;
  each_value(node, [&](ValueId id) {
    const Type& type = facts.graph.values[as_index(id)].type;
    read = std::max(read, elements(type, facts.graph.hints));
    if (row == 1 && !type.sizes.empty()) row = evaluate(type.sizes.back(), facts.graph.hints);
  });
  const bool is_library = facts.recompute[static_cast<std::size_t>(n)] == RecomputeCost::Library;
  return std::max(is_library ? most * static_cast<double>(row) : most, static_cast<double>(read));
}

// The node to lift next: the one with the least work for each byte that its recomputation frees. -1: none is
// left.
int cheapest_to_lift(const JointFacts& facts, const Choice& choice) {
  int best = -1;
  double least = 0;
  for (const ValueId id : choice.saved) {
    const int n = facts.producers[as_index(id)];
    if (n < 0 || choice.lifted.contains(n) || !facts.forward_nodes[static_cast<std::size_t>(n)]) continue;
    const RecomputeCost kind = facts.recompute[static_cast<std::size_t>(n)];
    if (!is_costly(kind) || facts.bytes[as_index(id)] == 0) continue;
    const double price = work(facts, n) / static_cast<double>(facts.bytes[as_index(id)]);
    if (best >= 0 && price >= least) continue;
    best = n;
    least = price;
  }
  return best;
}

}  // namespace

Choice choose_cut(const JointFacts& facts, double memory_budget) {
  Choice choice;
  choice.saved = SavedCut(facts, choice.lifted).run();
  const double allowed = memory_budget * static_cast<double>(bytes_of(facts, choice.saved));
  while (memory_budget < 1 && static_cast<double>(bytes_of(facts, choice.saved)) > allowed) {
    const int next = cheapest_to_lift(facts, choice);
    if (next < 0) break;
    choice.lifted.insert(next);
    choice.saved = SavedCut(facts, choice.lifted).run();
  }
  return choice;
}

}  // namespace kiln::jit
