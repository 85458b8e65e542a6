// What the tape remembers when the program ends, as data, and the walk of its engine.
#include <fmt/format.h>

#include <algorithm>

#include "jit/autodiff/custom_step.h"
#include "jit/autodiff/loop_step.h"
#include "jit/autodiff/replay.h"
#include "jit/graph/custom.h"
#include "tensor/integers.h"
#include "tensor/tape/engine.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/op_node.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

// Without asking views to follow their bases.
tape::Edge present_history(const Tensor& x) {
  const AutogradMeta* const meta = tape::meta_of(x);
  return meta != nullptr ? meta->history : tape::Edge{};
}

bool any_of_first(std::uint32_t bits, std::size_t count) {
  return count > 0 && (bits & (count >= 32 ? ~0U : (1U << count) - 1)) != 0;
}

}  // namespace

ValueId TapeNode::value() const {
  const auto known = std::find_if(values.begin(), values.end(), [](ValueId id) { return id >= 0; });
  return known == values.end() ? Operand::kAbsent : *known;
}

// ---- Which node stands for which value ----

void Replay::stands_for(const tape::Edge& edge, ValueId value) {
  if (!edge) return;
  std::vector<ValueId>& values = stands_for_[edge.node.get()];
  if (values.empty()) held_.push_back(edge.node);
  values.resize(std::max<std::size_t>(values.size(), edge.output + 1), Operand::kAbsent);
  if (values[edge.output] == Operand::kAbsent) values[edge.output] = value;
}

void Replay::note_histories(Inputs operands, Inputs made, const Node& node,
                            const Functionalized::Values& values) {
  for (const auto& [tensor, call] : body_calls_) called_by(tensor, call);
  body_calls_.clear();
  Call call;
  for (const Operand& each : values.operands) call.operands.push_back(joint_.at(each));
  for (const ValueId id : values.results) call.results.push_back(joint_.at(id));
  for (std::size_t j = 0; j < made.size() && j < call.results.size(); ++j) called_by(made[j], call);
  if (node.writes() && made[0].impl()->origin && !call.results.empty())
    stands_for(present_history(base_of(*made[0].impl()->origin)), call.results[0]);
  // Views that were taken anew stand for what they were first.
  for (const Tensor& each : operands) {
    const auto first = each ? first_values_.find(each.impl()) : first_values_.end();
    if (first != first_values_.end()) stands_for(present_history(each), first->second);
  }
}

// `made` is a result of the call, whose node is its history now.
void Replay::called_by(const Tensor& made, const Call& call) {
  const tape::Edge edge = present_history(made);
  if (!edge) return;
  if (edge.output < call.results.size()) stands_for(edge, call.results[edge.output]);
  calls_.try_emplace(edge.node.get(), call);
}

// ---- The tape as data ----

void Replay::read_tape() {
  std::vector<tape::Edge> roots;
  for (const tape::Edge& each : inputs_) {
    if (each) roots.push_back(each);
  }
  struct Left {
    Result result;
    Tensor tensor;
    tape::Edge edge, base;
  };
  std::vector<Left> left;
  std::vector<const TensorImpl*> seen;
  const auto has_left = [&](const Tensor& x) {
    return std::find(seen.begin(), seen.end(), x.impl()) != seen.end();
  };
  const auto leave = [&](Result result, const Tensor& x) {
    if (has_left(x)) return;
    seen.push_back(x.impl());
    const tape::Edge edge = tape::history(x);
    if (!edge) return;
    const auto first = first_values_.find(x.impl());
    if (first != first_values_.end()) stands_for(edge, first->second);
    const ViewOrigin* const origin = x.impl()->origin.get();
    left.push_back({result, x, edge, origin != nullptr ? tape::history(base_of(*origin)) : tape::Edge{}});
    roots.push_back(edge);
    if (left.back().base) roots.push_back(left.back().base);
  };
  for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
    const Operand& output = program_.outputs[k];
    if (output.is_value()) leave({false, static_cast<int>(k)}, tensors_[as_index(output.value)]);
  }
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const Tensor x = tensor_after(static_cast<int>(i));
    const bool was_output = has_left(x);
    const tape::Edge edge = tape::history(x);
    if (inputs_[i] && !edge) tape_.constants.push_back(static_cast<int>(i));
    const bool is_as_given =
        edge.node.get() == inputs_[i].node.get() && (!edge || edge.output == inputs_[i].output);
    if (!was_output && !is_as_given) leave({true, static_cast<int>(i)}, x);
  }
  number_nodes(roots);
  for (const Ref<tape::Node>& each : nodes_) tape_.nodes.push_back(read(*each));
  fill_values();
  for (std::size_t i = 0; i < inputs_.size(); ++i) tape_.inputs[i] = edge_of(inputs_[i]);
  for (const Left& each : left) {
    Tape::Leaving& leaving = tape_.results.emplace_back();
    leaving.result = each.result;
    leaving.edge = edge_of(each.edge);
    leaving.type = to_type(each.tensor.type());
    leaving.base = edge_of(each.base);
    if (const ViewOrigin* origin = each.tensor.impl()->origin.get()) {
      leaving.base_type = to_type(base_of(*origin).type());
      leaving.follows = origin->follows;
    }
  }
}

// The tensor that the caller's input is at the end: a functional graph says so by effects.
Tensor Replay::tensor_after(int input) const {
  Tensor x = tensors_[as_index(input)];
  for (const Effect& each : program_.effects) {
    if (each.input == input && each.member < 0) x = tensors_[as_index(each.value)];
  }
  return x;
}

void Replay::number_nodes(std::span<const tape::Edge> roots) {
  std::vector<tape::Node*> path;
  const auto reach = [&](const tape::Edge& edge) {
    if (!edge || !numbers_.emplace(edge.node.get(), 0).second) return;
    nodes_.push_back(edge.node);
    path.push_back(edge.node.get());
  };
  for (const tape::Edge& root : roots) {
    reach(root);
    while (!path.empty()) {
      const tape::Node* const node = path.back();
      path.pop_back();
      for (const tape::Edge& each : node->edges) reach(each);
    }
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  for (std::size_t n = 0; n < nodes_.size(); ++n) numbers_[nodes_[n].get()] = static_cast<int>(n);
}

Edge Replay::edge_of(const tape::Edge& edge) const {
  return edge ? Edge{numbers_.at(edge.node.get()), static_cast<int>(edge.output)} : Edge{};
}

TapeNode Replay::read(const tape::Node& node) {
  TapeNode made;
  made.name = node.name();
  for (const tape::Edge& each : node.edges) made.edges.push_back(edge_of(each));
  for (const TensorType& each : node.output_types) made.output_types.push_back(to_type(each));
  made.values.assign(node.output_types.size(), Operand::kAbsent);
  if (const auto known = stands_for_.find(&node); known != stands_for_.end())
    std::copy(known->second.begin(), known->second.end(), made.values.begin());
  Saves saves;
  if (const auto* of_op = dynamic_cast<const tape::OpNode*>(&node)) {
    made.op = &of_op->op();
    saves = of_op->saves();
  } else if (const auto* custom = dynamic_cast<const CustomStep*>(&node)) {
    made.op = &custom->op();
    saves = custom->op().saves;
  } else if (const auto* loop = dynamic_cast<const LoopStep*>(&node)) {
    made.op = &loop->op();
    saves = LoopStep::kSaves;
  } else {
    made.is_input = node.edges.empty();
  }
  made.reads_kept =
      any_of_first(saves.inputs, made.edges.size()) || any_of_first(saves.outputs, made.output_types.size());
  const auto call = calls_.find(&node);
  if (call == calls_.end()) return made;
  const auto& [operands, results] = call->second;
  for (std::size_t i = 0; i < operands.size() && i < made.edges.size(); ++i) {
    if (tape::has_bit(saves.inputs, i) && operands[i].is_value())
      made.kept.emplace_back(operands[i].value, made.edges[i]);
  }
  for (std::size_t k = 0; k < results.size() && k < made.output_types.size(); ++k) {
    const bool is_real = is_differentiable(made.output_types[k].dtype);
    const Edge here{numbers_.at(&node), static_cast<int>(k)};
    if (tape::has_bit(saves.outputs, k)) made.kept.emplace_back(results[k], is_real ? here : Edge{});
  }
  return made;
}

// A step on the way to a view that was taken anew stands for what the view does.
void Replay::fill_values() {
  for (std::size_t n = tape_.nodes.size(); n-- > 0;) {
    const ValueId value = tape_.nodes[n].value();
    for (const Edge& each : tape_.nodes[n].edges) {
      if (!each || value < 0) continue;
      std::vector<ValueId>& values = tape_.nodes[as_index(each.node)].values;
      if (tape_.nodes[as_index(each.node)].value() < 0) values[as_index(each.output)] = value;
    }
  }
}

// ---- The walk ----

std::vector<tape::Edge> Replay::real(std::span<const Edge> edges) const {
  std::vector<tape::Edge> made;
  for (const Edge& each : edges) {
    if (each) made.push_back({nodes_[as_index(each.node)], static_cast<std::uint32_t>(each.output)});
  }
  return made;
}

std::vector<Operand> Replay::backward(std::span<const Edge> roots, std::span<const Edge> targets,
                                      std::span<const Edge> ends) {
  const std::vector<tape::Edge> from = real(roots), to = real(targets), last = real(ends);
  std::vector<Tensor> arrived;
  notes_ = true;
  try {
    arrived = tape::run(
        {.roots = from, .root_grads = gradients_, .wanted = to, .retain_graph = true, .ends = last});
  } catch (const OpError& error) {
    if (error.kind() != ErrorKind::Capture || reading_ < 0) throw;
    const TapeNode& node = tape_.nodes[as_index(reading_)];
    if (node.op != nullptr && custom_function(*node.op) != nullptr) throw;
    throw OpError(ErrorKind::Capture,
                  fmt::format("the derivative of {} has no graph: which steps it takes depends on elements{}",
                              node.op != nullptr ? node.op->name() : "a write through a view",
                              program_.hints.empty() ? "" : ", or here on sizes that are symbols"));
  }
  std::vector<Operand> gradients;
  auto next = arrived.begin();
  for (const Edge& each : targets) gradients.push_back(each ? operand_of(*next++) : Operand{});
  return gradients;
}

void Replay::differentiates(const tape::Node* node) {
  reading_ = node != nullptr ? numbers_.at(node) : -1;
  like_ = node != nullptr ? like(reading_) : Node{};
  if (node != nullptr) visited_.push_back(reading_);
}

void Replay::gathers(const tape::Node* node) { like_ = node != nullptr ? like(numbers_.at(node)) : Node{}; }

// What the steps of a derivative have in common: the forward node that they come from.
Node Replay::like(int n) {
  Node result;
  const ValueId id = tape_.nodes[as_index(n)].value();
  if (id < 0) return result;
  result.origin = joint_.graph.values[as_index(id)].name;
  const int made = joint_producers_.of(joint_.graph)[as_index(id)];
  if (made >= 0) result.place = joint_.graph.nodes[as_index(made)].place;
  result.place.in_checkpoint = false;  // no derivative is
  return result;
}

}  // namespace kiln::jit
