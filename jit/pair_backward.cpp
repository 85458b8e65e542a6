#include "jit/pair_backward.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "jit/autodiff/choice.h"
#include "jit/graph/same_values.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/prepared.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

std::vector<ValueId> present(const std::vector<ValueId>& kept) {
  std::vector<ValueId> ids;
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(ids), [](ValueId id) { return id >= 0; });
  return ids;
}

// Which of those that were kept these are.
std::vector<std::size_t> numbers_of(std::span<const ValueId> ids, const std::vector<ValueId>& kept) {
  std::vector<std::size_t> numbers;
  for (const ValueId id : ids) {
    numbers.push_back(static_cast<std::size_t>(std::find(kept.begin(), kept.end(), id) - kept.begin()));
  }
  return numbers;
}

// Whoever reads a value that is the same as `id` reads that one, which comes first.
void read_first(Graph& graph, const std::vector<ValueId>& same, ValueId id) {
  const auto replace = [&](Operand& operand) {
    if (operand.is_value() && same[as_index(operand.value)] == same[as_index(id)]) operand = Operand::of(id);
  };
  for (Node& node : graph.nodes) std::for_each(node.operands.begin(), node.operands.end(), replace);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), replace);
}

// As a person would find it in the graph.
std::string called(const Graph& graph, ValueId id) {
  const std::string& name = graph.values[static_cast<std::size_t>(id)].name;
  if (!name.empty()) return "%" + name;
  const int made = graph.producers()[static_cast<std::size_t>(id)];
  const Node* const node = made < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(made)];
  return node == nullptr || node->is_constant() ? "a value"
                                                : "the result of " + std::string(node->op->name());
}

}  // namespace

Backwards::Backwards(std::shared_ptr<const Derivation> derivation,
                     std::span<const Derivation::Incoming> incoming, std::span<const Edge> results,
                     std::span<const Edge> bases, const PairOptions& options)
    : derivation_(std::move(derivation)), options_(options) {
  std::vector<Edge> leaving(results.begin(), results.end());
  leaving.insert(leaving.end(), bases.begin(), bases.end());
  std::vector<WalkPart> walk = cut_walk(tape(), leaving, results);
  // What goes from one part to the next is a gradient that is asked for, though it may come to nothing there.
  std::vector<Edge> between;
  for (const WalkPart& part : walk) {
    std::copy_if(part.targets.begin(), part.targets.end(), std::back_inserter(between),
                 [this](const Edge& each) { return !derivation_->is_input(each); });
  }
  joint_ = derivation_->joint(incoming, between);
  partition_ = jit::partition(joint_, options.partition);
  find_histories();
  check_complete();
  find_parts(std::move(walk));
}

void Backwards::find_parts(std::vector<WalkPart> walk) {
  places_.resize(tape().nodes.size());
  std::size_t turn = 0;
  for (WalkPart& each : walk) {
    BackwardPart part{std::move(each), {}, true, {}, {}};
    for (const Edge& edge : part.outputs) {
      part.types.push_back(derivation_->at(edge).type);
      part.all_lead = part.all_lead && derivation_->reaches_input(edge);
    }
    for (const int n : part.steps) {
      places_[static_cast<std::size_t>(n)] = {parts_.size(), turn++};
      const bool runs = std::find(joint_.visited.begin(), joint_.visited.end(), n) != joint_.visited.end();
      if (runs && tape().nodes[static_cast<std::size_t>(n)].reads_kept) part.savers.push_back(n);
    }
    parts_.push_back(std::move(part));
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) parts_[p].saved = saved_for(p);
}

// All that is saved, if there is one part; else what a part reads when all gradients come in.
std::vector<std::size_t> Backwards::saved_for(std::size_t p) const {
  std::vector<std::size_t> numbers(partition_.kept.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  if (parts_.size() == 1) return numbers;
  BackwardRequest all{p, {}, {}, {}};
  for (const Edge& each : parts_[p].outputs) all.incoming.emplace_back(each.node, each.output);
  all.wanted.resize(parts_[p].targets.size(), true);
  all.onto.resize(parts_[p].targets.size(), false);
  Joint joint = joint_for(all);
  const std::vector<ValueId> kept = kept_in(joint);
  std::vector<ValueId> read = present(kept);
  backward_from(joint, read);
  return numbers_of(read, kept);
}

void Backwards::find_histories() {
  std::map<ValueId, bool> constant;
  const auto note = [&](ValueId id, const Edge& edge) {
    const auto [found, is_new] = constant.try_emplace(id, !edge);
    if (is_new && edge) history_.emplace(id, edge);
    if (is_new || (found->second && !edge)) return;
    if (found->second != !edge || !(history_.at(id) == edge)) {
      throw OpError(
          ErrorKind::Capture,
          fmt::format("{} is what several steps give: second derivatives could come in at any of them",
                      called(derivation_->functional(), id)));
    }
  };
  for (const TapeNode& node : tape().nodes) {
    for (const auto& [id, edge] : node.kept) note(id, edge);
  }
}

// The gradient of the gradients may come in at any value that rules read, and then runs the rules of what
// that came from. They must be among those that run anyway, as what they read is kept.
void Backwards::check_complete() const {
  std::vector<bool> runs(tape().nodes.size(), false), seen = runs;
  for (const int n : joint_.visited) runs[static_cast<std::size_t>(n)] = true;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (!runs[n]) continue;
    for (const Edge& each : tape().nodes[n].edges) {
      if (!each) continue;
      const TapeNode& from = tape().nodes[static_cast<std::size_t>(each.node)];
      if (from.is_input || runs[static_cast<std::size_t>(each.node)]) continue;
      const bool leads = std::any_of(from.edges.begin(), from.edges.end(),
                                     [](const Edge& e) { return static_cast<bool>(e); });
      if (leads)
        throw OpError(
            ErrorKind::Capture,
            fmt::format("{} has no part in the gradients, but could have one in second derivatives: "
                        "what is written over leads there",
                        from.op != nullptr ? from.op->name() : "a write through a view"));
    }
  }
}

Joint Backwards::joint_for(const BackwardRequest& request) const {
  const BackwardPart& part = parts_[request.part];
  std::vector<Derivation::Incoming> incoming;
  for (const auto& [node, output] : request.incoming) incoming.push_back(derivation_->at({node, output}));
  std::vector<Edge> targets;
  for (std::size_t k = 0; k < part.targets.size(); ++k) {
    targets.push_back(request.wanted[k] ? part.targets[k] : Edge{});
    if (request.onto[k]) incoming.push_back(derivation_->at(part.targets[k]));
  }
  return derivation_->joint(incoming, targets, part.targets);
}

// What was saved, as values of another joint graph.
std::vector<ValueId> Backwards::kept_in(Joint& joint) const {
  std::vector<ValueId> same(joint.graph.values.size(), Operand::kAbsent), first(joint_.graph.values.size()),
      kept;
  for (std::size_t v = 0; v < joint.values.size(); ++v) same[as_index(joint.values[v])] = joint_.values[v];
  same = same_values(joint_.graph, joint.graph, std::move(same));
  std::iota(first.begin(), first.end(), ValueId{0});
  first = same_values(joint_.graph, joint_.graph, std::move(first));
  for (const ValueId id : partition_.kept) {
    const auto found = std::find(same.begin(), same.end(), first[as_index(id)]);
    kept.push_back(found == same.end() ? Operand::kAbsent : static_cast<ValueId>(found - same.begin()));
    if (found != same.end()) read_first(joint.graph, same, kept.back());
  }
  return kept;
}

const BackwardGraph& Backwards::graph(const BackwardRequest& request, bool op_by_op) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const BackwardGraph>& known = graphs_[{request, op_by_op}];
  if (known) return *known;
  auto made = std::make_unique<BackwardGraph>();
  Joint joint = joint_for(request);
  for (const int n : joint.visited) {
    if (tape().nodes[static_cast<std::size_t>(n)].reads_kept) made->savers.push_back(n);
  }
  const std::vector<ValueId> kept = kept_in(joint);
  std::vector<ValueId> given = present(kept);
  Subgraph part = backward_from(joint, given);
  made->compiled.saved = numbers_of(given, kept);
  made->compiled.run = prepared(part.graph, {.fused = options_.fused && !op_by_op,
                                             .op_by_op = &recipes::kOpByOpBackward,
                                             .takes_arguments = true})
                           .run;
  made->compiled.sizes = std::move(part.sizes);
  known = std::move(made);
  return *known;
}

std::size_t Backwards::code_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [request, made] : graphs_) {
    if (made) bytes += jit::code_bytes(made->compiled.run->graph());
  }
  return bytes;
}

const RecordedBackward& Backwards::recorded(const BackwardRequest& request) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const RecordedBackward>& known = recorded_[request];
  if (!known) known = std::make_unique<const RecordedBackward>(make_recorded(joint_for(request)));
  return *known;
}

RecordedBackward Backwards::make_recorded(Joint joint) const {
  const std::vector<ValueId> kept = kept_in(joint);
  const Graph& graph = joint.graph;
  const JointFacts facts(joint);
  // Rules may be given every value of the program, and what was computed of it ahead.
  std::vector<bool> given(graph.values.size(), false), is_kept = given, needed = given;
  for (const ValueId id : present(kept)) is_kept[as_index(id)] = true;
  given = is_kept;
  for (const ValueId id : joint.values) given[as_index(id)] = true;
  const auto gradients = std::span(graph.outputs).subspan(static_cast<std::size_t>(joint.outputs));
  for (const Operand& each : gradients) {
    if (each.is_value()) needed[as_index(each.value)] = true;
  }
  const std::vector<bool> none(graph.nodes.size(), false);
  const std::vector<bool> rules = nodes_for(graph, needed, given, facts.acting());
  std::vector<bool> read = read_by(graph, rules, gradients);
  Input saved;
  saved.role = Role::Saved;
  RecordedBackward made;
  std::vector<Operand> values;
  std::vector<SubgraphInput> to_rules;
  for (ValueId id = 0; id < static_cast<ValueId>(read.size()); ++id) {
    read[as_index(id)] = read[as_index(id)] && given[as_index(id)];
    if (!read[as_index(id)]) continue;
    values.push_back(Operand::of(id));
    to_rules.push_back({id, saved, graph.values[as_index(id)].type});
    const auto place = std::find(joint.values.begin(), joint.values.end(), id) - joint.values.begin();
    const auto history = history_.find(static_cast<ValueId>(place));
    made.histories.push_back(history == history_.end() ? Edge{} : history->second);
    made.types.push_back(graph.values[as_index(id)].type);
  }
  for (std::size_t i = graph.inputs.size() - joint.incoming; i < graph.inputs.size(); ++i) {
    to_rules.push_back({static_cast<ValueId>(i), graph.inputs[i], graph.values[i].type});
  }
  const std::vector<bool> again = nodes_for(graph, read, is_kept, none);
  const std::vector<bool> reread = read_by(graph, again, values);
  std::vector<ValueId> used;
  std::vector<SubgraphInput> from_kept;
  for (const ValueId id : present(kept)) {
    if (!reread[as_index(id)]) continue;
    used.push_back(id);
    from_kept.push_back({id, saved, kept_type(facts, id)});
  }
  made.values.saved = numbers_of(used, kept);
  fill(made.values, take_subgraph(graph, Stage::Backward, from_kept, again, none, values));
  fill(made.rules, take_subgraph(graph, Stage::Backward, to_rules, rules, none, gradients));
  return made;
}

void Backwards::fill(OverSaved& part, Subgraph made) {
  part.run = prepared(made.graph, {.takes_arguments = true}).run;
  part.sizes = std::move(made.sizes);
}

}  // namespace kiln::jit
