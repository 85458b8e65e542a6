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
    const Body fit = [&type](Inputs operands) {
      const bool fits = operands[0].sizes() == type.sizes;
      const Tensor sum = fits ? operands[0] : ops::sum_to(operands[0], type.sizes);
      return Tensors{ops::to(sum, type.dtype)};
    };
    grad = apply(fit, {operand(grad)}, edge.node)[0];
  }
  std::vector<Operand>& grads = stop(edge.node).grads;
  grads.resize(node_at(edge.node).output_types.size());
  Operand& sum = grads[static_cast<std::size_t>(edge.output)];
  if (is_absent(sum)) {
    sum = grad;
  } else {
    const Body add = [](Inputs operands) { return Tensors{operands[0] + operands[1]}; };
    sum = apply(add, {operand(sum), operand(grad)}, edge.node)[0];
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
            node.source},
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
  return apply(rule_of(std::move(call)), operands, n);
}

namespace {

// How the view that was written is taken of its base.
ViewPath path_of(const TapeNode& node) {
  const Layout base = node.source();
  Layout view = base;
  ViewSteps steps;
  for (const ViewApplication& each : node.path) {
    Attrs attrs = to_attrs(*each.op, each.attrs);
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
  const Body rule = [&](Inputs given) {
    const std::array<bool, 2> needs{base, written};
    return tape::write_gradients(path_of(node), given[0], needs);
  };
  return apply(rule, {operand(stop(n).grads[0])}, n);
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
  return {value, type.dtype, type.device,
          [this, id = value.value] { return layout_of(joint_.graph, producers_.of(joint_.graph), id); }};
}

std::vector<Operand> BackwardWalk::apply(const Body& rule, const std::vector<TraceOperand>& operands, int n) {
  const auto fragment = trace(rule, operands, joint_.graph.hints, has_no_kernel);
  if (!fragment) {
    throw OpError(ErrorKind::Capture, no_graph_of(name_of(node_at(n)), joint_.graph.hints));
  }
  check_available(*fragment, operands, name_of(node_at(n)));
  std::vector<Operand> given;
  for (const TraceOperand& each : operands) given.push_back(each.operand);
  return inline_fragment(joint_, *fragment, std::move(given), like(n));
}

}  // namespace kiln::jit
