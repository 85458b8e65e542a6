#include "jit/backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "jit/graph/custom.h"
#include "jit/graph/layouts.h"
#include "jit/graph/rule.h"
#include "jit/shape_rules.h"
#include "tensor/functions.h"
#include "tensor/tape/write_node.h"

namespace kiln::jit {
namespace {

bool is_absent(const Operand& operand) { return operand.value == Operand::kAbsent; }

// Stands for the input of a view that the tape took anew, which no value need be.
constexpr ValueId kLayoutOnly = std::numeric_limits<ValueId>::max();

void check_available(const Fragment& fragment, std::span<const TraceOperand> operands,
                     std::string_view what) {
  for (const Fragment::Step& step : fragment.steps) {
    for (const Operand& each : step.operands) {
      if (!each.is_value() || static_cast<std::size_t>(each.value) >= operands.size()) continue;
      if (operands[static_cast<std::size_t>(each.value)].operand.value == kLayoutOnly) {
        throw InternalError(fmt::format("the derivative of {} reads what it is a view of", what));
      }
    }
  }
}

std::string_view name_of(const TapeNode& node) {
  return node.op != nullptr ? node.op->name() : std::string_view("a write through a view");
}

}  // namespace

BackwardWalk::BackwardWalk(const Tape& tape, WalkBounds bounds, Rewriter& joint)
    : tape_(tape),
      bounds_(std::move(bounds)),
      joint_(joint),
      source_producers_(joint.source().producers()),
      stops_(tape.nodes.size()) {}

bool BackwardWalk::leads(const Edge& edge) const {
  return edge && stops_[static_cast<std::size_t>(edge.node)].needed;
}

std::vector<Operand> BackwardWalk::run(std::span<const Edge> roots, std::span<const Operand> root_grads) {
  const std::vector<int> order = walk_order(tape_, roots);
  for (const Edge& each : bounds_.targets) {
    if (each) stop(each.node).needed = true;
  }
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    const std::vector<Edge>& edges = node_at(*n).edges;
    if (!may_step(*n)) continue;
    stop(*n).needed =
        std::any_of(edges.begin(), edges.end(), [this](const Edge& each) { return leads(each); });
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (leads(roots[i])) give(roots[i], root_grads[i]);
  }
  for (const int n : order) {
    if (may_step(n) && !stop(n).grads.empty()) visit(n);
  }
  std::vector<Operand> results;
  for (const Edge& each : bounds_.targets) {
    const bool arrived = each && !stop(each.node).grads.empty();
    results.push_back(arrived ? stop(each.node).grads[static_cast<std::size_t>(each.output)] : Operand{});
  }
  return results;
}

// ---- A visit ----

void BackwardWalk::visit(int n) {
  const std::vector<Edge>& edges = node_at(n).edges;
  const std::vector<Operand> inputs = differentiate(n);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (leads(edges[i]) && !is_absent(inputs[i])) give(edges[i], inputs[i]);
  }
}

// A gradient arrives at an output: brought to the output's type and added to what is there.
void BackwardWalk::give(const Edge& edge, Operand grad) {
  const Type& type = node_at(edge.node).output_types[static_cast<std::size_t>(edge.output)];
  const Type given = operand_type(joint_.graph, grad);
  const SymbolValues& hints = joint_.graph.hints;
  if (given.dtype != type.dtype || evaluate(given.sizes, hints) != evaluate(type.sizes, hints)) {
    const Body fit = [&type](Inputs operands, const SymbolValues& symbols) {
      const Dims sizes = evaluate(type.sizes, symbols);
      const Tensor sum = operands[0].sizes() == sizes ? operands[0] : ops::sum_to(operands[0], sizes);
      return Tensors{ops::to(sum, type.dtype)};
    };
    grad = apply(fit, {operand(grad)}, edge.node, has_symbols(type.sizes))[0];
  }
  std::vector<Operand>& grads = stop(edge.node).grads;
  grads.resize(node_at(edge.node).output_types.size());
  Operand& sum = grads[static_cast<std::size_t>(edge.output)];
  if (is_absent(sum)) {
    sum = grad;
  } else {
    const Body add = [](Inputs operands, const SymbolValues&) { return Tensors{operands[0] + operands[1]}; };
    sum = apply(add, {operand(sum), operand(grad)}, edge.node, false)[0];
  }
}

std::vector<Operand> BackwardWalk::differentiate(int n) {
  const TapeNode& node = node_at(n);
  visited_.push_back(n);
  if (node.kind == TapeNode::Kind::Write) return differentiate_write(n);
  if (derivative_of(*node.op) == nullptr) {
    throw OpError(ErrorKind::Autograd,
                  fmt::format("{} has no derivative: {}", node.op->name(), node.op->vjp.missing), {},
                  "detach its input, or give the derivative with an `autograd` function");
  }
  return differentiate_op(n);
}

std::vector<Operand> BackwardWalk::differentiate_op(int n) {
  const TapeNode& node = node_at(n);
  const Saves saves = saves_of(node);
  const std::size_t inputs = node.inputs.size(), outputs = node.output_types.size();
  // What the rule is given, and where: the inputs, the outputs, the gradients.
  std::vector<TraceOperand> operands;
  std::vector<std::size_t> places;
  const auto hand = [&](TraceOperand each, std::size_t place) {
    operands.push_back(std::move(each));
    places.push_back(place);
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!has_bit(saves.inputs, i)) continue;
    if (node.source && i == 0) {
      const Type& type = node.input_types[i];
      const bool known = !is_absent(node.inputs[i]);
      hand({known ? joint_.at(node.inputs[i]) : Operand::of(kLayoutOnly), type.dtype, type.device,
            node.source, source_follows(node)},
           i);
    } else if (!is_absent(node.inputs[i])) {
      hand(operand(joint_.at(node.inputs[i])), i);
    }
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    if (has_bit(saves.outputs, k)) hand(operand(Operand::of(joint_.at(node.outputs[k]))), inputs + k);
    if (!is_absent(stop(n).grads[k])) hand(operand(stop(n).grads[k]), inputs + outputs + k);
  }
  RuleCall call{node.op, node.attrs, node.input_types, node.output_types, {}, std::move(places)};
  for (const Edge& each : node.edges) call.needs.push_back(leads(each));
  const auto has_symbolic = [](const std::vector<Type>& types) {
    return std::any_of(types.begin(), types.end(), [](const Type& each) { return has_symbols(each.sizes); });
  };
  const bool follows =
      has_symbols(node.attrs) || has_symbolic(node.input_types) || has_symbolic(node.output_types);
  return apply(rule_of(std::move(call)), operands, n, follows);
}

// What a view is of lies as the program has it: seen by looking.
bool BackwardWalk::source_follows(const TapeNode& node) const {
  const SymbolValues& hints = joint_.graph.hints;
  if (hints.empty()) return false;
  const Layout here = node.source(hints);
  for (const SymbolValues& each : other_assignments(hints)) {
    try {
      const Layout there = node.source(each);
      if (there.sizes != here.sizes || there.strides != here.strides) return true;
    } catch (const OpError&) {  // nor does it hold there
      return true;
    }
  }
  return false;
}

namespace {

// How the view that was written is taken of its base.
ViewPath path_of(const TapeNode& node, const SymbolValues& symbols) {
  const Layout base = node.source(symbols);
  Layout view = base;
  ViewSteps steps;
  for (const ViewApplication& each : node.path) {
    Attrs attrs = evaluate(*each.op, each.attrs, symbols);
    view = layout_of_view(*each.op, view, attrs, static_cast<std::size_t>(each.output));
    steps = steps.then({each.op, std::move(attrs), each.output});
  }
  return {std::move(steps), base, std::move(view)};
}

}  // namespace

// Gradient goes to what the base was outside of the view, inside of it to what was written.
std::vector<Operand> BackwardWalk::differentiate_write(int n) {
  const TapeNode& node = node_at(n);
  const bool base = leads(node.edges[0]), written = leads(node.edges[1]);
  const Body rule = [&](Inputs given, const SymbolValues& symbols) {
    const std::array<bool, 2> needs{base, written};
    return tape::write_gradients(path_of(node, symbols), given[0], needs);
  };
  const bool counts = std::any_of(node.path.begin(), node.path.end(),
                                  [](const ViewApplication& step) { return step.op->has(kCountsPlaces); });
  return apply(rule, {operand(stop(n).grads[0])}, n, counts && source_follows(node));
}

// ---- Steps ----

// What the steps have in common: the forward node they come from.
Node BackwardWalk::like(int n) const {
  Node result;
  const auto is_from = [n](const Edge& each) { return each.node == n; };
  const auto input = std::find_if(tape_.inputs.begin(), tape_.inputs.end(), is_from);
  const auto place = static_cast<ValueId>(input - tape_.inputs.begin());
  const ValueId id = input == tape_.inputs.end() ? node_at(n).value : place;
  if (id < 0) return result;
  result.origin = joint_.source().values[static_cast<std::size_t>(id)].name;
  const int made = source_producers_[static_cast<std::size_t>(id)];
  if (made >= 0) result.place = joint_.source().nodes[static_cast<std::size_t>(made)].place;
  result.place.in_checkpoint = false;  // no derivative is
  return result;
}

TraceOperand BackwardWalk::operand(const Operand& value) {
  const Type type = operand_type(joint_.graph, value);
  const bool follows =
      value.is_value() && follows_symbols(joint_.graph, producers_.of(joint_.graph), value.value);
  return {value, type.dtype, type.device,
          [this, id = value.value](const SymbolValues& symbols) {
            return layout_of(joint_.graph, producers_.of(joint_.graph), id, symbols);
          },
          follows};
}

std::vector<Operand> BackwardWalk::apply(const Body& rule, const std::vector<TraceOperand>& operands, int n,
                                         bool follows) {
  const auto fragment = trace(rule, operands, joint_.graph.hints, has_no_kernel, follows);
  if (!fragment) {
    throw OpError(ErrorKind::Capture, no_graph_of(name_of(node_at(n)), joint_.graph.hints));
  }
  check_available(*fragment, operands, name_of(node_at(n)));
  std::vector<Operand> given;
  for (const TraceOperand& each : operands) given.push_back(each.operand);
  return inline_fragment(joint_, *fragment, std::move(given), like(n));
}

}  // namespace kiln::jit
