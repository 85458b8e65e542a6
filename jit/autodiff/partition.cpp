#include "jit/autodiff/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jit/autodiff/choice.h"
#include "jit/graph/subgraph.h"
#include "jit/passes/run_recipe.h"
#include "tensor/core_ops.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

const std::string& name_of(const Graph& graph, ValueId id) { return graph.values[as_index(id)].name; }

// ---- Which nodes ----

std::vector<bool> forward_nodes(const JointFacts& facts, const Choice& choice) {
  std::vector<bool> needed(facts.graph.values.size(), false);
  for (const ValueId id : choice.saved) needed[as_index(id)] = true;
  return nodes_for(facts.graph, needed, std::vector<bool>(needed.size(), false), facts.forward_nodes);
}

std::vector<bool> backward_nodes(const JointFacts& facts, const Choice& choice) {
  const Graph& graph = facts.graph;
  std::vector<bool> needed(graph.values.size(), false), known = needed;
  for (const ValueId id : choice.saved) known[as_index(id)] = true;
  for (std::size_t k = static_cast<std::size_t>(facts.outputs); k < graph.outputs.size(); ++k) {
    if (graph.outputs[k].is_value()) needed[as_index(graph.outputs[k].value)] = true;
  }
  return nodes_for(graph, std::move(needed), known, facts.acting());
}

// ---- The two graphs ----

// Names the values that the report mentions.
void name_values(Graph& graph, const JointFacts& facts, const Choice& choice) {
  Builder names(graph);
  const auto name = [&](ValueId id) {
    std::string& text = graph.values[as_index(id)].name;
    const Node* node = facts.producer(id);
    if (text.empty()) text = node == nullptr ? names.fresh("input") : names.fresh_after(*node);
  };
  for (const ValueId id : choice.saved) name(id);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!facts.forward_nodes[n]) continue;
    for (const ValueId id : graph.nodes[n].outputs) name(id);
  }
}

Graph make_forward(const JointFacts& facts, const Choice& choice) {
  const Graph& joint = facts.graph;
  SubgraphBuilder builder(joint, Stage::Forward);
  builder.graph.hints = joint.hints;
  builder.graph.guards = joint.guards;
  builder.graph.size_guards = joint.size_guards;
  for (std::size_t i = 0; i + facts.given < joint.inputs.size(); ++i) {
    builder.take_input(static_cast<ValueId>(i), joint.inputs[i], joint.values[i].type);
  }
  const std::vector<bool> nodes = forward_nodes(facts, choice);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n]) builder.copy(joint.nodes[n]);
  }
  for (int k = 0; k < facts.outputs; ++k) {
    builder.graph.outputs.push_back(builder.now(joint.outputs[static_cast<std::size_t>(k)]));
  }
  for (Effect effect : joint.effects) {
    effect.value = builder.now(Operand::of(effect.value)).value;
    builder.graph.effects.push_back(std::move(effect));
  }
  for (const ValueId id : choice.saved) {
    ValueId kept = builder.now(Operand::of(id)).value;
    if (keeps_copy(facts, id)) {
      const Node* made = facts.producer(id);
      kept = builder.apply(core_ops().clone, {Operand::of(kept)}, {}, made != nullptr ? *made : Node{},
                           name_of(joint, id) + "_kept")[0];
    }
    builder.graph.saved.push_back(kept);
  }
  return std::move(builder.graph);
}

Subgraph make_backward(const JointFacts& facts, const Choice& choice) {
  const Graph& joint = facts.graph;
  std::vector<SubgraphInput> inputs;
  Input saved;
  saved.role = Role::Saved;
  for (const ValueId id : choice.saved) inputs.push_back({id, saved, kept_type(facts, id)});
  for (std::size_t i = joint.inputs.size() - facts.given; i < joint.inputs.size(); ++i) {
    inputs.push_back({static_cast<ValueId>(i), joint.inputs[i], joint.values[i].type});
  }
  Subgraph backward =
      take_subgraph(joint, Stage::Backward, inputs, backward_nodes(facts, choice), facts.forward_nodes,
                    std::span(joint.outputs).subspan(static_cast<std::size_t>(facts.outputs)));
  // Values that the program computes twice are recomputed once.
  backward.graph = run_recipe(recipes::kShared, std::move(backward.graph));
  return backward;
}

// ---- The report ----

std::string_view why_not_again(RecomputeCost cost) {
  switch (cost) {
    case RecomputeCost::Random:
      return "random draws are not made twice";
    case RecomputeCost::Collective:
      return "is done once, with the other ranks";
    case RecomputeCost::Own:
      return "has a derivative of its own, and runs once";
    case RecomputeCost::Library:
      return "is too costly to run again";
    case RecomputeCost::Reduction:
      return "sums up too many elements to run again";
    case RecomputeCost::Gather:
      return "reads or writes at computed places, which is slow to do again";
    case RecomputeCost::Chain:
      return "ends a long chain of cheap ops, which would all run again";
    default:
      return "takes no more bytes than what it is computed from";
  }
}

// The forward values whose derivatives read the value, directly or through recomputed nodes.
std::string readers_text(const JointFacts& facts, ValueId id) {
  std::set<ValueId> reached{id};
  std::vector<std::string> origins;
  for (std::size_t n = 0; n < facts.graph.nodes.size(); ++n) {
    const Node& node = facts.graph.nodes[n];
    const bool reads = facts.backward_nodes[n] &&
                       std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
                         return each.is_value() && reached.contains(each.value);
                       });
    if (!reads || node.outputs.empty()) continue;
    if (!facts.of_gradient[as_index(node.outputs[0])] && facts.forward_nodes[n]) {
      reached.insert(node.outputs.begin(), node.outputs.end());
    } else if (!node.origin.empty() &&
               std::find(origins.begin(), origins.end(), node.origin) == origins.end()) {
      origins.push_back(node.origin);
    }
  }
  if (origins.empty()) return "it is a gradient itself";
  constexpr std::size_t kShown = 3;
  std::string text = "for the gradient of ";
  for (std::size_t i = 0; i < std::min(origins.size(), kShown); ++i)
    text += (i > 0 ? ", %" : "%") + origins[i];
  if (origins.size() > kShown) text += fmt::format(" and {} more", origins.size() - kShown);
  return text;
}

std::string why_saved(const JointFacts& facts, ValueId id, Strategy strategy) {
  const std::string readers = readers_text(facts, id);
  if (strategy == Strategy::SaveAll) return readers;
  const int n = facts.producers[as_index(id)];
  if (n < 0) return "an input, " + readers;
  const Node& node = facts.graph.nodes[static_cast<std::size_t>(n)];
  if (!facts.forward_nodes[static_cast<std::size_t>(n)]) {
    return fmt::format("computed ahead, as it takes fewer bytes than what it is computed from; {}", readers);
  }
  if (node.is_view()) return "a part of what is not kept; " + readers;
  const RecomputeCost cost = facts.recompute[static_cast<std::size_t>(n)];
  const bool is_subject = cost == RecomputeCost::Random;
  return fmt::format("{}{}; {}", is_subject ? "" : std::string(node.op->name()) + " ", why_not_again(cost),
                     readers);
}

std::string why_again(const JointFacts& facts, int n, const Choice& choice) {
  const Node& node = facts.graph.nodes[static_cast<std::size_t>(n)];
  if (choice.lifted.contains(n)) return "costly, but the memory budget asks for it";
  if (facts.recompute[static_cast<std::size_t>(n)] == RecomputeCost::Checkpoint)
    return "costly, but within a checkpoint";
  if (node.is_view()) return "a view, which costs nothing";
  if (node.is_constant() || node.op->lowering == Lowering::Create)
    return "made from nothing that must be kept";
  if (node.op->lowering == Lowering::Reduce) return "a small reduction";
  std::string from;
  for (const Operand& each : node.operands) {
    if (!each.is_value()) continue;
    const std::string name = "%" + name_of(facts.graph, each.value);
    if (from.find(name) == std::string::npos) from += (from.empty() ? "" : ", ") + name;
  }
  return from.empty() ? "cheap" : "cheap, from " + from;
}

PartitionReport report_of(const JointFacts& facts, const Choice& choice, Strategy strategy) {
  PartitionReport report;
  report.bytes_save_all = bytes_of(facts, choose_all(facts).saved);
  report.bytes_saved = bytes_of(facts, choice.saved);
  for (const ValueId id : choice.saved) {
    report.saved.push_back({name_of(facts.graph, id), facts.bytes[as_index(id)], keeps_copy(facts, id),
                            why_saved(facts, id, strategy)});
  }
  const std::vector<bool> nodes = backward_nodes(facts, choice);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = facts.graph.nodes[n];
    if (!nodes[n] || !facts.forward_nodes[n]) continue;
    std::int64_t bytes = 0;
    for (const ValueId id : node.outputs) bytes += node.is_view() ? 0 : facts.bytes[as_index(id)];
    report.recomputed.push_back({name_of(facts.graph, node.outputs[0]),
                                 node.is_constant() ? "constant" : std::string(node.op->name()), bytes,
                                 why_again(facts, static_cast<int>(n), choice)});
  }
  return report;
}

}  // namespace

std::string to_string(const PartitionReport& report) {
  std::string text;
  for (const SavedValue& each : report.saved) {
    text += fmt::format("saved       %{} {} B{}: {}\n", each.name, each.bytes, each.is_copy ? ", a copy" : "",
                        each.why);
  }
  for (const std::string& each : report.sizes)
    text += fmt::format("saved       size {}: no tensor shows it\n", each);
  for (const Recomputation& each : report.recomputed) {
    text += fmt::format("recomputed  %{} = {}, {} B: {}\n", each.name, each.op, each.bytes, each.why);
  }
  return text + fmt::format("{} B -> {} B\n", report.bytes_save_all, report.bytes_saved);
}

Partition partition(const Joint& joint, const PartitionOptions& options) {
  Joint named = joint;
  const JointFacts facts(named);
  const Choice choice =
      options.strategy == Strategy::SaveAll ? choose_all(facts) : choose_cut(facts, options.memory_budget);
  name_values(named.graph, facts, choice);
  Partition result;
  result.kept = choice.saved;
  result.forward = make_forward(facts, choice);
  Subgraph backward = make_backward(facts, choice);
  result.backward = std::move(backward.graph);
  result.report = report_of(facts, choice, options.strategy);
  std::erase_if(result.report.recomputed, [&result](const Recomputation& each) {
    const std::vector<Node>& nodes = result.backward.nodes;
    return std::none_of(nodes.begin(), nodes.end(),
                        [&](const Node& node) { return node.origin == each.name; });
  });
  result.forward.saved_sizes = backward.sizes;
  result.report.sizes = std::move(backward.sizes);
  return result;
}

Subgraph backward_from(const Joint& joint, std::vector<ValueId>& kept) {
  const JointFacts facts(joint);
  const auto gradients = std::span(joint.graph.outputs).subspan(static_cast<std::size_t>(joint.outputs));
  const std::vector<bool> read = read_by(joint.graph, backward_nodes(facts, {kept, {}}), gradients);
  std::erase_if(kept, [&](ValueId id) { return !read[as_index(id)]; });
  return make_backward(facts, {kept, {}});
}

}  // namespace kiln::jit
