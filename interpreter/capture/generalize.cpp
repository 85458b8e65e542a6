#include "interpreter/capture/generalize.h"

#include <algorithm>
#include <set>

namespace kiln::interp::capture {
namespace {

using jit::Graph;

bool same_steps(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const jit::Node& x, const jit::Node& y) {
                      return x.op == y.op && x.form == y.form && x.attrs.size() == y.attrs.size() &&
                             x.operands.size() == y.operands.size() && x.outputs.size() == y.outputs.size();
                    });
}

bool is_known(Dim size, const SymbolValues& values) {
  std::set<std::string> symbols;
  collect_symbols(size, symbols);
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](const std::string& s) { return values.contains(s); });
}

bool agrees(Dim symbolic, const SymbolValues& values, Dim earlier, const SymbolValues& hints) {
  return !is_known(symbolic, values) || evaluate(symbolic, values) == evaluate(earlier, hints);
}

bool agrees(const Attr& symbolic, const SymbolValues& values, const Attr& earlier,
            const SymbolValues& hints) {
  if (symbolic.index() != earlier.index()) return false;
  if (const auto* size = std::get_if<Dim>(&symbolic))
    return agrees(*size, values, std::get<Dim>(earlier), hints);
  if (const auto* sizes = std::get_if<Dims>(&symbolic)) {
    const Dims& others = std::get<Dims>(earlier);
    return std::equal(sizes->begin(), sizes->end(), others.begin(), others.end(),
                      [&](Dim a, Dim b) { return agrees(a, values, b, hints); });
  }
  return symbolic == earlier;
}

// As operands, sizes may have been noted as floats.
bool agrees(const jit::Number& symbolic, const SymbolValues& values, const jit::Number& earlier,
            const SymbolValues& hints) {
  const auto* size = std::get_if<Dim>(&symbolic);
  if (size == nullptr || size->is_known()) return jit::same_number(symbolic, earlier);
  if (const auto* real = std::get_if<double>(&earlier))
    return !is_known(*size, values) || static_cast<double>(evaluate(*size, values)) == *real;
  const auto* other = std::get_if<Dim>(&earlier);
  return other != nullptr && agrees(*size, values, *other, hints);
}

// Was the earlier graph made for the sizes that the inputs have at these values? Of others it tells nothing.
bool same_inputs(const Graph& symbolic, const SymbolValues& values, const Graph& earlier) {
  if (symbolic.inputs.size() != earlier.inputs.size()) return false;
  return std::equal(
      symbolic.values.begin(), symbolic.values.begin() + static_cast<std::ptrdiff_t>(symbolic.inputs.size()),
      earlier.values.begin(), [&](const jit::Value& a, const jit::Value& b) {
        return std::equal(a.type.sizes.begin(), a.type.sizes.end(), b.type.sizes.begin(), b.type.sizes.end(),
                          [&](Dim x, Dim y) { return agrees(x, values, y, earlier.hints); });
      });
}

void fix(Dim& size, const SymbolValues& hints) { size = evaluate(size, hints); }

}  // namespace

bool agrees(const Graph& symbolic, const SymbolValues& values, const Graph& earlier) {
  if (!same_steps(symbolic, earlier) || !same_inputs(symbolic, values, earlier)) return true;
  for (std::size_t n = 0; n < symbolic.nodes.size(); ++n) {
    const jit::Node& a = symbolic.nodes[n];
    const jit::Node& b = earlier.nodes[n];
    for (std::size_t k = 0; k < a.attrs.size(); ++k) {
      if (!agrees(a.attrs[k], values, b.attrs[k], earlier.hints)) return false;
    }
    for (std::size_t k = 0; k < a.operands.size(); ++k) {
      const bool numbers = a.operands[k].is_number() && b.operands[k].is_number();
      if (numbers && !agrees(a.operands[k].number, values, b.operands[k].number, earlier.hints)) return false;
    }
    for (std::size_t k = 0; k < a.outputs.size(); ++k) {
      const Dims& sizes = symbolic.values[static_cast<std::size_t>(a.outputs[k])].type.sizes;
      const Dims& others = earlier.values[static_cast<std::size_t>(b.outputs[k])].type.sizes;
      const bool same = std::equal(sizes.begin(), sizes.end(), others.begin(), others.end(),
                                   [&](Dim x, Dim y) { return agrees(x, values, y, earlier.hints); });
      if (!same) return false;
    }
  }
  return true;
}

Graph at_hints(Graph graph) {
  for (jit::Value& each : graph.values) {
    for (Dim& size : each.type.sizes) fix(size, graph.hints);
    if (!each.type.strides) continue;
    for (Dim& stride : *each.type.strides) fix(stride, graph.hints);
  }
  for (jit::Node& node : graph.nodes) {
    for (Attr& attr : node.attrs) {
      if (auto* size = std::get_if<Dim>(&attr)) fix(*size, graph.hints);
      if (auto* sizes = std::get_if<Dims>(&attr)) {
        for (Dim& each : *sizes) fix(each, graph.hints);
      }
    }
    for (jit::Operand& each : node.operands) {
      auto* size = std::get_if<Dim>(&each.number);
      if (each.is_number() && size != nullptr) fix(*size, graph.hints);
    }
  }
  graph.hints.clear();
  graph.size_guards.clear();
  return graph;
}

}  // namespace kiln::interp::capture
