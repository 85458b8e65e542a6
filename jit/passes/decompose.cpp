// Before simplification, so that what bodies have in common is found. A composite op equals its body to the
// bit, so nothing changes but the grain.
#include <fmt/format.h>

#include <algorithm>

#include "jit/layouts.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

using Operands = std::vector<TraceOperand>;

std::optional<Fragment> body_of(const Node& node, const Operands& operands, const SymbolValues& hints,
                                bool (*expands)(const Op&)) {
  const Body body = [&node](Inputs given, const SymbolValues& symbols) {
    return run_body(*node.op, given, evaluate(*node.op, node.attrs, symbols));
  };
  return trace(body, operands, hints, expands);
}

bool gives_values(const Fragment& fragment) {
  return std::all_of(fragment.outputs.begin(), fragment.outputs.end(),
                     [](const Operand& each) { return each.is_value(); });
}

// Does an output lie in the memory of an operand?
bool gives_views(const Fragment& fragment) {
  for (std::size_t k = 0; k < fragment.outputs.size(); ++k) {
    if (fragment.view_root(k) < static_cast<int>(fragment.inputs)) return true;
  }
  return false;
}

// The operands at the hints, as numbers; `row_major`: as if each lay in memory row by row.
Operands at_hints(const Operands& operands, const SymbolValues& hints, bool row_major) {
  Operands result = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (auto* size = std::get_if<Size>(&result[i].operand.number)) *size = size->evaluate(hints);
    if (!operands[i].operand.is_value()) continue;
    Layout layout = operands[i].layout(hints);
    if (row_major) layout = {layout.sizes, contiguous_strides(layout.sizes), 0};
    result[i].layout = [layout](const SymbolValues&) { return layout; };
  }
  return result;
}

// Is the result a view where strides allow it, here or in another layout? What a value's layout is changes
// with functionalization; whether the op copied was decided in the captured graph.
bool may_give_views(const Node& node, const Operands& operands, const SymbolValues& hints) {
  for (const bool row_major : {false, true}) {
    Node at = node;
    at.attrs = to_graph_attrs(evaluate(*node.op, node.attrs, hints));
    const auto body = body_of(at, at_hints(operands, hints, row_major), {}, differentiates_by_body);
    if (body && gives_views(*body)) return true;
  }
  return false;
}

void replace(Rewriter& rewriter, const Node& node, const Fragment& fragment) {
  std::vector<Operand> operands;
  for (const Operand& each : node.operands) operands.push_back(rewriter.at(each));
  const std::string& name = rewriter.source().values[static_cast<std::size_t>(node.outputs[0])].name;
  const std::vector<Operand> results = inline_fragment(rewriter, fragment, std::move(operands), node, name);
  for (std::size_t k = 0; k < results.size(); ++k) rewriter.map(node.outputs[k], results[k].value);
}

// What an op says of elements it cannot bear is not what the smaller ops would say.
bool keeps_its_errors(const Op& op) { return op.decompose != nullptr && op.has(kMayFail); }

// Composite nodes become the bodies that `choose` gives for them, if any.
template <class F>
Graph expand(const Graph& graph, const F& choose) {
  Rewriter rewriter(graph);
  Producers producers;
  for (const Node& node : graph.nodes) {
    std::optional<Fragment> body;
    if (!node.is_constant() && node.form == Form::Plain && is_composite(*node.op) && !node.outputs.empty()) {
      const Node mapped = rewriter.mapped(node);
      body = choose(mapped, trace_operands(rewriter.graph, producers.of(rewriter.graph), mapped));
    }
    body ? replace(rewriter, node, *body) : rewriter.copy(node);
  }
  return rewriter.finish();
}

}  // namespace

Graph expand_views(const Graph& graph) {
  return expand(graph, [&graph](const Node& node, const Operands& operands) -> std::optional<Fragment> {
    if (!may_give_views(node, operands, graph.hints)) return std::nullopt;
    // No further than the tape does: what derivatives sum up, and in which order, stays as it is.
    auto body = body_of(node, operands, graph.hints, differentiates_by_body);
    if (body && gives_values(*body)) return body;
    throw OpError(
        ErrorKind::Capture,
        fmt::format("{} gives a view or a copy, as sizes that are symbols decide", node.op->name()));
  });
}

Graph expand_recorded(const Graph& graph) {
  return expand(graph, [&graph](const Node& node, const Operands& operands) -> std::optional<Fragment> {
    if (!differentiates_by_body(*node.op)) return std::nullopt;
    auto body = body_of(node, operands, graph.hints, differentiates_by_body);
    return body && gives_values(*body) ? std::move(body) : std::nullopt;
  });
}

Graph decompose(const Graph& graph) {
  return expand(graph, [&graph](const Node& node, const Operands& operands) -> std::optional<Fragment> {
    if (keeps_its_errors(*node.op)) return std::nullopt;
    auto body = body_of(node, operands, graph.hints, is_composite);
    return body && gives_values(*body) ? std::move(body) : std::nullopt;
  });
}

}  // namespace kiln::jit
