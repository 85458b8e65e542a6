#include "jit/pair_node.h"

#include <algorithm>
#include <utility>

#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/op_node.h"

namespace kiln::jit {

PairNode::PairNode(std::shared_ptr<const Backwards> backwards, std::span<const Port> ports,
                   const SymbolValues& symbols, Inputs arguments, Inputs saved)
    : Node(tape::next_sequence()), backwards_(std::move(backwards)), symbols_(symbols) {
  for (const int i : backwards_->joint().wanted) {
    edges.push_back(tape::history(arguments[static_cast<std::size_t>(i)]));
  }
  for (const Port& each : ports) {
    ports_.push_back(each.edge);
    output_types.push_back(evaluate(each.type, symbols_));
  }
  for (const bool each : backwards_->summed()) summed_.push_back(each);
  for (const Tensor& each : saved) {
    saved_.emplace_back(each);
    types_.push_back(each.type());
  }
  freed_.resize(backwards_->tape().nodes.size(), false);
}

std::string PairNode::name_of_output(std::uint32_t output) const {
  const TapeNode& made = backwards_->tape().nodes[static_cast<std::size_t>(ports_[output].node)];
  return made.op == nullptr ? "WriteThroughViewBackward" : tape::name_of_backward(*made.op);
}

BackwardRequest PairNode::request(Inputs grads, Inputs sums, std::span<const bool> needs) const {
  BackwardRequest request;
  for (std::size_t p = 0; p < grads.size(); ++p) {
    if (grads[p]) request.incoming.emplace_back(ports_[p].node, ports_[p].output);
  }
  request.wanted.assign(needs.begin(), needs.end());
  for (const Tensor& each : sums) request.onto.push_back(static_cast<bool>(each));
  return request;
}

// As the node would that saved the values.
void PairNode::check_alive(std::span<const int> savers) const {
  for (const int n : savers) {
    if (!freed_[static_cast<std::size_t>(n)]) continue;
    throw tape::freed_error(*backwards_->tape().nodes[static_cast<std::size_t>(n)].op);
  }
}

Tensors PairNode::backward_onto(Inputs grads, Inputs sums, std::span<const bool> needs) {
  const bool is_last = std::exchange(is_last_, false);  // also where this throws
  const BackwardRequest wanted = request(grads, sums, needs);
  Tensors given;
  for (const Inputs& each : {grads, sums}) {
    for (const Tensor& grad : each) {
      if (grad) given.push_back(ops::contiguous(grad));
    }
  }
  const bool op_by_op = levels::top != nullptr;
  const BackwardGraph& graph = backwards_->graph(wanted, op_by_op || tape::recording);
  check_alive(graph.savers);
  ran_ = graph.savers;
  return tape::recording ? recorded(backwards_->recorded(wanted), given)
                         : run(graph.compiled, {}, std::move(given), is_last && frees_all());
}

// Do the nodes that run now, with those that ran before, need all that is saved?
bool PairNode::frees_all() const {
  const std::vector<int>& all = backwards_->savers();
  return std::all_of(all.begin(), all.end(), [this](int n) {
    return freed_[static_cast<std::size_t>(n)] || std::find(ran_.begin(), ran_.end(), n) != ran_.end();
  });
}

// The numbers that the graph asks for, what was saved, then these. The last time, what was saved is the
// graph's alone.
Tensors PairNode::run(const OverSaved& part, Inputs before, Tensors after, bool is_last) {
  Tensors given;
  for (const std::string& each : part.sizes) given.push_back(Tensor::number(symbols_.at(each)));
  for (const std::size_t k : part.saved) given.push_back(saved_[k].unpack(types_[k]));
  for (const Tensor& x : before) given.push_back(x);
  for (Tensor& x : after) given.push_back(std::move(x));
  after.clear();
  if (is_last) release_saved();
  SymbolValues symbols;
  for (const auto& [symbol, hint] : part.run->graph().hints) symbols.emplace(symbol, symbols_.at(symbol));
  return part.run->run_taking(std::move(given), symbols);
}

// A value that a rule reads comes from where it came from in the program: an output of this node.
tape::Edge PairNode::edge_of(const Edge& edge, const Type& type) {
  const Tape& tape = backwards_->tape();
  for (std::size_t k = 0; k < edges.size(); ++k) {
    if (tape.inputs[static_cast<std::size_t>(backwards_->joint().wanted[k])] == edge) return edges[k];
  }
  auto found = std::find(ports_.begin(), ports_.end(), edge);
  if (found == ports_.end()) {
    found = ports_.insert(ports_.end(), edge);
    output_types.push_back(evaluate(type, symbols_));
  }
  return {Ref<tape::Node>(this), static_cast<std::uint32_t>(found - ports_.begin())};
}

Tensors PairNode::recorded(const RecordedBackward& backward, Inputs grads) {
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

void PairNode::release_saved() {
  const bool all = frees_all();
  for (const int n : ran_) freed_[static_cast<std::size_t>(n)] = true;
  if (!all) return;
  saved_.clear();
  types_.clear();
}

}  // namespace kiln::jit
