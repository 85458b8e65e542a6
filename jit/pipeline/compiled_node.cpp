#include "jit/pipeline/compiled_node.h"

#include <algorithm>
#include <utility>

#include "jit/graph/custom.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/custom.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {

CompiledNode::CompiledNode(std::shared_ptr<const Backwards> backwards, std::size_t part,
                           const SymbolValues& symbols, SmallVector<tape::Edge, 2> next, Inputs saved)
    : Node(tape::next_sequence()), backwards_(std::move(backwards)), number_(part), symbols_(symbols) {
  const BackwardPart& mine = this->part();
  edges = std::move(next);
  ports_.append(mine.outputs.begin(), mine.outputs.end());
  output_types.reserve(mine.types.size());
  for (const Type& each : mine.types) output_types.push_back(evaluate(each, symbols_));
  kept_.resize(saved.size());
  for (const std::size_t k : mine.saved) kept_[k] = {tape::Saved(saved[k]), saved[k].type()};
}

std::string CompiledNode::name_of_output(std::uint32_t output) const {
  return backwards_->tape().nodes[static_cast<std::size_t>(ports_[output].node)].name;
}

tape::Edge CompiledNode::viewed(std::uint32_t output) const {
  const std::vector<Edge>& targets = part().targets;
  for (Edge at = ports_[output]; at;) {
    const TapeNode& made = backwards_->tape().nodes[static_cast<std::size_t>(at.node)];
    if (made.op == nullptr || made.op->view == nullptr) break;
    at = made.edges[0];
    const auto target = std::find(targets.begin(), targets.end(), at);
    if (target != targets.end()) return edges[static_cast<std::size_t>(target - targets.begin())];
  }
  return {};
}

// Goes through the program's nodes from the last to the first, as the engine goes through nodes.
void CompiledNode::mark_needed(std::span<const bool> needs, std::span<bool> outputs) const {
  const BackwardPart& mine = part();
  if (mine.all_lead && std::find(needs.begin(), needs.end(), false) == needs.end()) {
    std::fill(outputs.begin(), outputs.end(), true);
    return;
  }
  const std::vector<bool> needed = needed_steps(needs, outputs);
  for (std::size_t p = 0; p < outputs.size(); ++p) {
    outputs[p] = needed[static_cast<std::size_t>(ports_[p].node)];
  }
}

// By node of the program's tape: does it lead to inputs or outputs whose gradients are asked for?
std::vector<bool> CompiledNode::needed_steps(std::span<const bool> needs,
                                             std::span<const bool> outputs) const {
  const BackwardPart& mine = part();
  std::vector<bool> needed(backwards_->tape().nodes.size(), false);
  for (std::size_t k = 0; k < needs.size(); ++k) {
    if (needs[k]) needed[static_cast<std::size_t>(mine.targets[k].node)] = true;
  }
  for (std::size_t p = 0; p < outputs.size(); ++p) {
    if (outputs[p]) needed[static_cast<std::size_t>(ports_[p].node)] = true;
  }
  for (auto n = mine.steps.rbegin(); n != mine.steps.rend(); ++n) {
    for (const Edge& each : backwards_->tape().nodes[static_cast<std::size_t>(*n)].edges) {
      if (each && needed[static_cast<std::size_t>(each.node)]) needed[static_cast<std::size_t>(*n)] = true;
    }
  }
  return needed;
}

// Goes through the program's nodes from the first to the last.
std::optional<OpError> CompiledNode::freed(std::span<const bool> outputs, std::span<bool> inputs) const {
  const BackwardPart& mine = part();
  const std::vector<bool> needed = needed_steps(inputs, {});
  std::vector<bool> reached(needed.size(), false);
  for (std::size_t p = 0; p < outputs.size(); ++p) {
    if (outputs[p]) reached[static_cast<std::size_t>(ports_[p].node)] = true;
  }
  std::optional<OpError> error;
  for (const int n : mine.steps) {
    const auto at = static_cast<std::size_t>(n);
    if (!reached[at] || !needed[at]) continue;
    if (is_freed(n) && !error) error = freed_error(n);
    for (const Edge& each : backwards_->tape().nodes[at].edges) {
      if (each && needed[static_cast<std::size_t>(each.node)])
        reached[static_cast<std::size_t>(each.node)] = true;
    }
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    inputs[k] = inputs[k] && reached[static_cast<std::size_t>(mine.targets[k].node)];
  }
  return error;
}

// The error that the tape's node that saved the values would raise.
OpError CompiledNode::freed_error(int step) const {
  const Op& op = *backwards_->tape().nodes[static_cast<std::size_t>(step)].op;
  const CustomFunction* own = custom_function(op);
  return own != nullptr ? tape::freed_function_error(own->program_name) : tape::freed_error(op);
}

BackwardRequest CompiledNode::request(Inputs grads, Inputs sums, std::span<const bool> needs) const {
  BackwardRequest request{number_, {}, {}, {}};
  for (std::size_t p = 0; p < grads.size(); ++p) {
    if (grads[p]) request.incoming.emplace_back(ports_[p].node, ports_[p].output);
  }
  request.wanted.append(needs.begin(), needs.end());
  for (const Tensor& each : sums) request.onto.push_back(static_cast<bool>(each));
  return request;
}

void CompiledNode::check_alive(std::span<const int> savers) const {
  for (const int n : savers) {
    if (is_freed(n)) throw freed_error(n);
  }
}

Tensors CompiledNode::backward_onto(Tensors grads, Tensors sums, std::span<const bool> needs) {
  const bool is_last = std::exchange(is_last_, false);  // also where this throws
  const BackwardRequest wanted = request(grads, sums, needs);
  Tensors given;
  given.reserve(grads.size() + sums.size());
  for (Tensors* arrived : {&grads, &sums}) {
    for (Tensor& each : *arrived) {
      if (each) given.push_back(ops::contiguous(std::exchange(each, Tensor())));
    }
  }
  const bool op_by_op = levels::top != nullptr;
  const BackwardGraph& graph = backwards_->graph(wanted, op_by_op || tape::recording);
  check_alive(graph.savers);
  ran_ = graph.savers;
  return tape::recording ? recorded(backwards_->recorded(wanted), given)
                         : run(graph.compiled, {}, std::move(given), is_last && frees_all());
}

// Have the nodes that run now, with those that ran before, read all saved values?
bool CompiledNode::frees_all() const {
  const std::vector<int>& all = part().savers;
  if (ran_ == all) return true;
  return std::all_of(all.begin(), all.end(), [this](int n) {
    return is_freed(n) || std::find(ran_.begin(), ran_.end(), n) != ran_.end();
  });
}

// Gives the graph the sizes it asks for, then the saved values, then `before` and `after`. In the last
// backward, the graph alone holds the saved values.
Tensors CompiledNode::run(const OverSaved& graph, Inputs before, Tensors after, bool is_last) {
  Tensors given;
  given.reserve(graph.sizes.size() + graph.saved.size() + before.size() + after.size());
  for (const std::string& each : graph.sizes) given.push_back(Tensor::number(symbols_.at(each)));
  for (const std::size_t k : graph.saved) given.push_back(kept_[k].value.unpack(kept_[k].type));
  for (const Tensor& x : before) given.push_back(x);
  for (Tensor& x : after) given.push_back(std::move(x));
  after.clear();
  if (is_last) release_saved();
  SymbolValues symbols;
  for (const auto& [symbol, hint] : graph.run->graph().hints) symbols.emplace(symbol, symbols_.at(symbol));
  return graph.run->run_taking(std::move(given), symbols);
}

// A value that a rule reads has the history that it had in the program: an output of this node.
tape::Edge CompiledNode::edge_of(const Edge& edge, const Type& type) {
  const std::vector<Edge>& targets = part().targets;
  const auto target = std::find(targets.begin(), targets.end(), edge);
  if (target != targets.end()) return edges[static_cast<std::size_t>(target - targets.begin())];
  auto found = std::find(ports_.begin(), ports_.end(), edge);
  if (found == ports_.end()) {
    found = ports_.insert(ports_.end(), edge);
    output_types.push_back(evaluate(type, symbols_));
  }
  return {Ref<tape::Node>(this), static_cast<std::uint32_t>(found - ports_.begin())};
}

Tensors CompiledNode::recorded(const RecordedBackward& backward, Inputs grads) {
  Tensors values;
  {
    const GradMode off(false);
    values = run(backward.values, {}, {}, false);
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!backward.histories[k]) continue;
    values[k] = tape::Saved(values[k]).unpack(values[k].type());
    tape::start_history(values[k], edge_of(backward.histories[k], backward.types[k]));
  }
  return run(backward.rules, values, Tensors(grads.begin(), grads.end()), false);
}

void CompiledNode::settle(const SymbolValues& values) {
  Node::settle(values);
  for (SavedValue& each : kept_) {
    each.value.settle(values);
    each.type.sizes = evaluate(each.type.sizes, values);
  }
}

void CompiledNode::release_saved() {
  const bool all = frees_all();
  freed_.resize(backwards_->tape().nodes.size(), false);
  for (const int n : ran_) freed_[static_cast<std::size_t>(n)] = true;
  has_freed_ = has_freed_ || !ran_.empty();
  if (!all) return;
  kept_.clear();
}

}  // namespace kiln::jit
