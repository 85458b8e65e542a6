#include "jit/autodiff/differentiate.h"

#include <algorithm>
#include <map>

#include "jit/graph/same_values.h"
#include "tensor/timeline.h"

namespace kiln::jit {
namespace {

// The functional form of a program, and what its values are.
Functionalized functional_form(const Graph& program) {
  if (program.stage == Stage::Captured) return functionalize_values(program);
  Functionalized same{program, {}};
  for (const Node& node : program.nodes) same.nodes.push_back({node.operands, node.outputs});
  return same;
}

// Values of which a gradient says that it is theirs have names.
void name_values(Graph& graph, const Tape& tape) {
  Builder names(graph);
  const std::vector<int> producers = graph.producers();
  for (const TapeNode& node : tape.nodes) {
    const ValueId value = node.value();
    if (value < 0 || producers[static_cast<std::size_t>(value)] < 0) continue;
    std::string& name = graph.values[static_cast<std::size_t>(value)].name;
    if (!name.empty()) continue;
    const auto& made = graph.nodes[static_cast<std::size_t>(producers[static_cast<std::size_t>(value)])];
    name = names.fresh_after(made);
  }
}

void name_gradient(Builder& builder, const Operand& gradient, const std::string& of) {
  if (!gradient.is_value()) return;
  std::string& name = builder.graph.values[static_cast<std::size_t>(gradient.value)].name;
  if (name.empty()) name = builder.fresh("grad_" + of);
}

// Rules of several ops may ask the same of a value, as where it is above zero. What has no derivative of its
// own is computed once; the rest stays as it is, as its gradients are sums in the order of the tape.
void compute_masks_once(Joint& joint) {
  Graph& graph = joint.graph;
  std::vector<ValueId> same(graph.values.size(), Operand::kAbsent);
  for (const ValueId id : joint.values) same[static_cast<std::size_t>(id)] = id;
  same = same_values(graph, graph, std::move(same));
  const auto replace = [&](Operand& operand) {
    if (!operand.is_value()) return;
    const ValueId first = same[static_cast<std::size_t>(operand.value)];
    const bool is_mask = !is_differentiable(graph.values[static_cast<std::size_t>(operand.value)].type.dtype);
    if (first >= 0 && is_mask) operand = Operand::of(first);
  };
  for (std::size_t n = *joint.program_nodes; n < graph.nodes.size(); ++n) {
    std::for_each(graph.nodes[n].operands.begin(), graph.nodes[n].operands.end(), replace);
  }
}

}  // namespace

// ---- Derivation ----

Derivation::Derivation(const Graph& graph, const std::vector<bool>& wanted)
    : program_(graph), wanted_(wanted), form_(functional_form(program_)) {
  const timeline::Span span(timeline::Kind::Compile, timeline::kDifferentiate);
  Replay replay(replayed(), {});
  functional_ = replay.finish();
  tape_ = replay.tape();
  name_values(functional_, tape_);
  reaching_.resize(tape_.nodes.size(), false);
  // A node may have edges to younger ones.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t n = 0; n < tape_.nodes.size(); ++n) {
      const TapeNode& node = tape_.nodes[n];
      const bool reaches = node.is_input || std::any_of(node.edges.begin(), node.edges.end(),
                                                        [this](const Edge& e) { return reaches_input(e); });
      changed = changed || reaches != reaching_[n];
      reaching_[n] = reaches;
    }
  }
}

bool Derivation::reaches_input(const Edge& edge) const {
  return edge && reaching_[static_cast<std::size_t>(edge.node)];
}

std::vector<std::pair<Result, Derivation::Incoming>> Derivation::of_results() const {
  std::vector<std::pair<Result, Incoming>> found;
  for (const Tape::Leaving& each : tape_.results) {
    if (!reaches_input(each.edge)) continue;
    const Result& result = each.result;
    const Graph& graph = result.is_input ? program_ : functional_;
    const ValueId id =
        result.is_input ? result.index : graph.outputs[static_cast<std::size_t>(result.index)].value;
    found.push_back({result, {each.edge, each.type, graph.values[static_cast<std::size_t>(id)].name}});
  }
  return found;
}

int Derivation::input_of(const Edge& edge) const {
  const auto found = std::find(tape_.inputs.begin(), tape_.inputs.end(), edge);
  return found == tape_.inputs.end() ? -1 : static_cast<int>(found - tape_.inputs.begin());
}

const std::string& Derivation::name_at(const Edge& edge) const {
  static const std::string kUnnamed = "it";
  const int input = input_of(edge);
  if (input >= 0) return program_.values[static_cast<std::size_t>(input)].name;
  const TapeNode& node = tape_.nodes[static_cast<std::size_t>(edge.node)];
  const ValueId known = node.values[static_cast<std::size_t>(edge.output)];
  const ValueId id = known >= 0 ? known : node.value();
  return id >= 0 ? functional_.values[static_cast<std::size_t>(id)].name : kUnnamed;
}

Derivation::Incoming Derivation::at(const Edge& edge) const {
  const TapeNode& node = tape_.nodes[static_cast<std::size_t>(edge.node)];
  const Type& type = node.output_types[static_cast<std::size_t>(edge.output)];
  return {edge, {type.dtype, type.device, type.sizes, type.is_number, std::nullopt}, name_at(edge)};
}

Joint Derivation::joint(std::span<const Incoming> incoming, std::span<const Edge> also) const {
  std::vector<Edge> targets;
  std::vector<int> wanted;
  for (std::size_t i = 0; i < tape_.inputs.size(); ++i) {
    if (!tape_.inputs[i]) continue;
    targets.push_back(tape_.inputs[i]);
    wanted.push_back(static_cast<int>(i));
  }
  targets.insert(targets.end(), also.begin(), also.end());
  Joint made = joint(incoming, targets, {});
  made.wanted = std::move(wanted);
  return made;
}

Joint Derivation::joint(std::span<const Incoming> incoming, std::span<const Edge> targets,
                        std::span<const Edge> ends) const {
  const timeline::Span span(timeline::Kind::Compile, timeline::kDifferentiate);
  std::vector<Edge> roots;
  std::vector<Replay::Gradient> gradients;
  for (const Incoming& each : incoming) {
    roots.push_back(each.edge);
    // A gradient is a tensor, also of a number.
    gradients.push_back(
        {each.name, {each.type.dtype, each.type.device, each.type.sizes, false, each.type.strides}});
  }
  Replay replay(replayed(), gradients);
  replay.take_names(functional_);
  Joint joint;
  joint.incoming = incoming.size();
  joint.program_nodes = functional_.nodes.size();
  const auto inputs = static_cast<ValueId>(functional_.inputs.size());
  for (ValueId id = 0; id < static_cast<ValueId>(functional_.values.size()); ++id)
    joint.values.push_back(id < inputs ? id : id + static_cast<ValueId>(gradients.size()));
  const std::vector<Operand> arrived = replay.backward(roots, targets, ends);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (targets[k]) name_gradient(replay.joint(), arrived[k], name_at(targets[k]));
  }
  joint.visited = replay.visited();
  joint.graph = replay.finish();
  joint.graph.stage = Stage::Joint;
  joint.outputs = static_cast<int>(joint.graph.outputs.size());
  joint.graph.outputs.insert(joint.graph.outputs.end(), arrived.begin(), arrived.end());
  compute_masks_once(joint);
  return joint;
}

Joint differentiate(const Graph& graph, const std::vector<bool>& wanted,
                    const std::optional<std::vector<Result>>& given) {
  const Derivation derivation(graph, wanted);
  std::vector<Derivation::Incoming> incoming;
  std::vector<Result> results;
  for (auto& [result, each] : derivation.of_results()) {
    if (given && std::find(given->begin(), given->end(), result) == given->end()) continue;
    results.push_back(result);
    incoming.push_back(std::move(each));
  }
  Joint joint = derivation.joint(incoming);
  joint.given = std::move(results);
  return joint;
}

}  // namespace kiln::jit
