// Before simplification, so that what bodies have in common is found. A composite op equals its body to the
// bit, so nothing changes but the grain.
#include <algorithm>

#include "jit/layouts.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// `graph` is what was made so far: in it, all views before the node are known as such.
std::optional<Fragment> body_of(const Graph& graph, const Node& node) {
  const std::vector<int> producers = graph.producers();
  const Body body = [&node](Inputs operands, const SymbolValues& symbols) {
    return run_body(*node.op, operands, evaluate(*node.op, node.attrs, symbols));
  };
  return trace(body, trace_operands(graph, producers, node), graph.hints, is_composite);
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

void replace(Rewriter& rewriter, const Node& node, const Fragment& fragment) {
  std::vector<Operand> operands;
  for (const Operand& each : node.operands) operands.push_back(rewriter.at(each));
  const std::string& name = rewriter.source().values[static_cast<std::size_t>(node.outputs[0])].name;
  const std::vector<Operand> results = inline_fragment(rewriter, fragment, std::move(operands), node, name);
  for (std::size_t k = 0; k < results.size(); ++k) rewriter.map(node.outputs[k], results[k].value);
}

// Composite nodes become their bodies where these are `wanted`.
Graph expand(const Graph& graph, bool (*wanted)(const Fragment&)) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    const bool composite = !node.is_constant() && node.form == Form::Plain && is_composite(*node.op);
    const auto body = composite ? body_of(rewriter.graph, rewriter.mapped(node)) : std::nullopt;
    if (body && !node.outputs.empty() && gives_values(*body) && wanted(*body)) {
      replace(rewriter, node, *body);
    } else {
      rewriter.copy(node);
    }
  }
  return rewriter.finish();
}

bool always(const Fragment&) { return true; }

}  // namespace

Graph expand_views(const Graph& graph) { return expand(graph, gives_views); }
Graph decompose(const Graph& graph) { return expand(graph, always); }

}  // namespace kiln::jit
