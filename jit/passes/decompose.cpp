// Before simplification, so that what bodies have in common is found. A composite op equals its body to the
// bit, so nothing changes but the grain.
#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/custom.h"
#include "jit/graph/layouts.h"
#include "jit/graph/levels.h"
#include "jit/passes/lowerable.h"
#include "jit/passes/passes.h"
#include "jit/passes/target.h"
#include "jit/shape_rules.h"
#include "tensor/backend.h"
#include "tensor/ops/reduced.h"

namespace kiln::jit {
namespace {

using Operands = std::vector<TraceOperand>;

std::optional<Fragment> body_of(const Node& node, const Operands& operands, const SymbolValues& hints,
                                bool (*expands)(const Op&)) {
  const Body body = [&node](Inputs given) {
    return run_body(*node.op, given, to_attrs(*node.op, node.attrs));
  };
  return trace(body, operands, hints, expands);
}

bool gives_values(const Fragment& fragment) {
  return std::all_of(fragment.outputs.begin(), fragment.outputs.end(),
                     [](const Operand& each) { return each.is_value(); });
}

// Does an output share the memory of an operand?
bool gives_views(const Fragment& fragment) {
  for (std::size_t k = 0; k < fragment.outputs.size(); ++k) {
    if (fragment.view_root(k) < static_cast<int>(fragment.inputs)) return true;
  }
  return false;
}

Layout layout_at(const TraceOperand& operand, const SymbolValues& hints) {
  const SizeScope scope(hints);
  return at_hints(operand.layout());
}

// The operands at the hints, as numbers; `row_major`: as if each were row-major in memory.
Operands at_hints(const Operands& operands, const SymbolValues& hints, bool row_major) {
  Operands result = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (auto* size = std::get_if<Dim>(&result[i].operand.number)) *size = evaluate(*size, hints);
    if (!operands[i].operand.is_value()) continue;
    Layout layout = layout_at(operands[i], hints);
    if (row_major) layout = {layout.sizes, contiguous_strides(layout.sizes), 0};
    result[i].layout = [layout] { return layout; };
  }
  return result;
}

bool lie_row_by_row(const Operands& operands, const SymbolValues& hints) {
  return std::all_of(operands.begin(), operands.end(), [&hints](const TraceOperand& each) {
    if (!each.operand.is_value()) return true;
    const Layout layout = layout_at(each, hints);
    return layout.offset == 0 && layout.strides == contiguous_strides(layout.sizes);
  });
}

// Is the result a view where strides allow it, here or in another layout? What a value's layout is changes
// with functionalization; whether the op copied was decided in the captured graph. `here`: the body at the
// layouts that the operands have.
bool may_give_views(const Node& node, const Operands& operands, const SymbolValues& hints,
                    const std::optional<Fragment>& here) {
  if (here && gives_views(*here)) return true;
  if (lie_row_by_row(operands, hints)) return false;
  Node at = node;
  at.attrs = attr_list(evaluate(*node.op, node.attrs, hints));
  const auto body = body_of(at, at_hints(operands, hints, true), {}, differentiates_by_body);
  return body && gives_views(*body);
}

void replace(Rewriter& rewriter, const Node& node, const Fragment& fragment) {
  std::vector<Operand> operands;
  for (const Operand& each : node.operands) operands.push_back(rewriter.at(each));
  const std::string& name = rewriter.source().values[static_cast<std::size_t>(node.outputs[0])].name;
  const std::vector<Operand> results = inline_fragment(rewriter, fragment, std::move(operands), node, name);
  for (std::size_t k = 0; k < results.size(); ++k) rewriter.map(node.outputs[k], results[k].value);
}

// What an op says of elements it cannot bear is not what the smaller ops would say.
bool keeps_its_errors(const Op& op) { return op.decompose != nullptr && has_kernel(op) && op.may_fail(); }

bool is_plain(const Node& node) {
  return !node.is_constant() && node.form == Form::Plain && !node.outputs.empty();
}
bool is_one(Dim size) { return size.is_known() && size.known() == 1; }

// A call that may be elementwise at such sizes, as its body says: a matrix product without sums.
bool may_be_elementwise(const Graph& graph, const Node& node) {
  if (!is_plain(node) || node.op->lowering != Lowering::Library || node.op->decompose == nullptr ||
      !has_kernel(*node.op) || custom_function(*node.op))
    return false;
  return std::any_of(node.operands.begin(), node.operands.end(), [&graph](const Operand& each) {
    if (!each.is_value()) return false;
    const Dims& sizes = graph.values[static_cast<std::size_t>(each.value)].type.sizes;
    return std::any_of(sizes.begin(), sizes.end(), is_one);
  });
}
bool is_elementwise(const Fragment& body) {
  return std::all_of(body.steps.begin(), body.steps.end(), [](const Fragment::Step& step) {
    return step.op != nullptr &&
           (step.op->lowering == Lowering::Pointwise || step.op->lowering == Lowering::View);
  });
}
bool has_composite_op(const Graph&, const Node& node) { return is_plain(node) && is_composite(*node.op); }

// Nodes that `has_body` is true of become the bodies that `choose` gives for them, if any.
template <class P, class F>
Graph expand(Graph graph, const P& has_body, const F& choose) {
  const auto opens = [&](const Node& node) { return has_body(graph, node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), opens) && is_in_order(graph)) return graph;
  Rewriter rewriter(graph);
  Producers producers;
  for (const Node& node : graph.nodes) {
    std::optional<Fragment> body;
    if (opens(node)) {
      const Node mapped = rewriter.mapped(node);
      body =
          choose(mapped, trace_operands(rewriter.graph, producers.of(rewriter.graph), mapped), graph.hints);
    }
    body ? replace(rewriter, node, *body) : rewriter.copy(node);
  }
  return rewriter.finish();
}

// A reduction that is several combinations.
bool has_open_body(const Node& node) {
  return is_plain(node) && node.op->lowering == Lowering::Reduce && node.op->decompose != nullptr &&
         has_kernel(*node.op);
}

// Is it of rows that what computes them could go through, if the reduction were its body?
bool may_join_rows(const Graph& graph, std::span<const int> producers, const Node& node) {
  if (!node.operands[0].is_value()) return false;
  const int maker = producers[static_cast<std::size_t>(node.operands[0].value)];
  if (maker < 0) return false;
  const Node& computed = graph.nodes[static_cast<std::size_t>(maker)];
  if (!why_not_lowered(graph, computed).empty() || computed.op->lowering != Lowering::Pointwise) return false;
  const Type& type = graph.values[static_cast<std::size_t>(node.operands[0].value)].type;
  const int rank = static_cast<int>(type.sizes.size());
  const Dims dims = ops::reduced_dims(evaluate(*node.op, node.attrs, {}), rank);
  const int count = static_cast<int>(dims.size());
  if (count == 0 || dims.front() != rank - count) return false;
  return !has_short_rows({type.sizes, count, 0}, graph.hints, target_of(type.device)->limits.short_row);
}

// Tensors made from nothing are as long as a row: as much again where there are few.
bool makes_long_tensors(const Graph& graph, const Node& node, const Fragment& body) {
  constexpr std::int64_t kFewRows = 8;
  const Dims& sizes = graph.values[static_cast<std::size_t>(node.outputs[0])].type.sizes;
  const bool makes = std::any_of(body.steps.begin(), body.steps.end(), [](const Fragment::Step& step) {
    return step.op != nullptr && step.op->lowering == Lowering::Create;
  });
  return makes && count_elements(evaluate(sizes, graph.hints)) < kFewRows;
}

}  // namespace

Graph open_reductions(Graph graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), has_open_body)) return graph;
  const std::vector<int> producers = graph.producers();
  const auto joins = [&](const Graph&, const Node& node) {
    return has_open_body(node) && may_join_rows(graph, producers, node);
  };
  const auto choose = [&](const Node& node, const Operands& operands,
                          const SymbolValues& hints) -> std::optional<Fragment> {
    auto body = body_of(node, operands, hints, is_composite);
    if (!body || !gives_values(*body) || makes_long_tensors(graph, node, *body)) return std::nullopt;
    return body;
  };
  return expand(graph, joins, choose);
}

Graph expand_views(Graph graph) {
  const auto choose = [](const Node& node, const Operands& operands,
                         const SymbolValues& hints) -> std::optional<Fragment> {
    // No further than the tape does: what derivatives sum up, and in which order, stays as it is.
    auto body = body_of(node, operands, hints, differentiates_by_body);
    if (!may_give_views(node, operands, hints, body)) return std::nullopt;
    if (body && gives_values(*body)) return body;
    throw OpError(ErrorKind::Capture,
                  fmt::format("{} gives a view or a copy, as its elements decide", node.op->name()));
  };
  return expand(std::move(graph), has_composite_op, choose);
}

Graph decompose(Graph graph) {
  const auto choose = [](const Node& node, const Operands& operands,
                         const SymbolValues& hints) -> std::optional<Fragment> {
    if (keeps_its_errors(*node.op)) return std::nullopt;
    auto body = body_of(node, operands, hints, is_composite);
    if (!body || !gives_values(*body)) return std::nullopt;
    return is_composite(*node.op) || is_elementwise(*body) ? std::move(body) : std::nullopt;
  };
  const auto opens = [](const Graph& source, const Node& node) {
    return has_composite_op(source, node) || may_be_elementwise(source, node);
  };
  return expand(std::move(graph), opens, choose);
}

}  // namespace kiln::jit
