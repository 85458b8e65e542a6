#include "interpreter/capture/generalize.h"

#include <algorithm>
#include <set>

namespace kiln::interp::capture {
namespace {

using jit::Graph;
using jit::GraphAttr;
using jit::Size;
using jit::Sizes;
using jit::SymbolValues;

bool same_steps(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const jit::Node& x, const jit::Node& y) {
                      return x.op == y.op && x.form == y.form && x.attrs.size() == y.attrs.size() &&
                             x.operands.size() == y.operands.size() && x.outputs.size() == y.outputs.size();
                    });
}

bool is_known(const Size& size, const SymbolValues& values) {
  std::set<std::string> symbols;
  size.collect_symbols(symbols);
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](const std::string& s) { return values.contains(s); });
}

bool agrees(const Size& symbolic, const SymbolValues& values, const Size& earlier,
            const SymbolValues& hints) {
  return !is_known(symbolic, values) || symbolic.evaluate(values) == earlier.evaluate(hints);
}

bool agrees(const GraphAttr& symbolic, const SymbolValues& values, const GraphAttr& earlier,
            const SymbolValues& hints) {
  if (symbolic.index() != earlier.index()) return false;
  if (const auto* size = std::get_if<Size>(&symbolic))
    return agrees(*size, values, std::get<Size>(earlier), hints);
  if (const auto* sizes = std::get_if<Sizes>(&symbolic)) {
    const Sizes& others = std::get<Sizes>(earlier);
    return std::equal(sizes->begin(), sizes->end(), others.begin(), others.end(),
                      [&](const Size& a, const Size& b) { return agrees(a, values, b, hints); });
  }
  return symbolic == earlier;
}

// As operands, sizes may have been noted as floats.
bool agrees(const jit::Number& symbolic, const SymbolValues& values, const jit::Number& earlier,
            const SymbolValues& hints) {
  const auto* size = std::get_if<Size>(&symbolic);
  if (size == nullptr || size->is_constant()) return jit::same_number(symbolic, earlier);
  if (const auto* real = std::get_if<double>(&earlier))
    return !is_known(*size, values) || static_cast<double>(size->evaluate(values)) == *real;
  const auto* other = std::get_if<Size>(&earlier);
  return other != nullptr && agrees(*size, values, *other, hints);
}

// Was the earlier graph made for the sizes that the inputs have at these values? Of others it tells nothing.
bool same_inputs(const Graph& symbolic, const SymbolValues& values, const Graph& earlier) {
  if (symbolic.inputs.size() != earlier.inputs.size()) return false;
  return std::equal(
      symbolic.values.begin(), symbolic.values.begin() + static_cast<std::ptrdiff_t>(symbolic.inputs.size()),
      earlier.values.begin(), [&](const jit::Value& a, const jit::Value& b) {
        return std::equal(a.type.sizes.begin(), a.type.sizes.end(), b.type.sizes.begin(), b.type.sizes.end(),
                          [&](const Size& x, const Size& y) { return agrees(x, values, y, earlier.hints); });
      });
}

void fix(Size& size, const SymbolValues& hints) { size = size.evaluate(hints); }

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
      const Sizes& sizes = symbolic.values[static_cast<std::size_t>(a.outputs[k])].type.sizes;
      const Sizes& others = earlier.values[static_cast<std::size_t>(b.outputs[k])].type.sizes;
      const bool same =
          std::equal(sizes.begin(), sizes.end(), others.begin(), others.end(),
                     [&](const Size& x, const Size& y) { return agrees(x, values, y, earlier.hints); });
      if (!same) return false;
    }
  }
  return true;
}

Graph at_hints(Graph graph) {
  for (jit::Value& each : graph.values) {
    for (Size& size : each.type.sizes) fix(size, graph.hints);
    if (!each.type.strides) continue;
    for (Size& stride : *each.type.strides) fix(stride, graph.hints);
  }
  for (jit::Node& node : graph.nodes) {
    for (GraphAttr& attr : node.attrs) {
      if (auto* size = std::get_if<Size>(&attr)) fix(*size, graph.hints);
      if (auto* sizes = std::get_if<Sizes>(&attr)) {
        for (Size& each : *sizes) fix(each, graph.hints);
      }
    }
    for (jit::Operand& each : node.operands) {
      auto* size = std::get_if<Size>(&each.number);
      if (each.is_number() && size != nullptr) fix(*size, graph.hints);
    }
  }
  graph.hints.clear();
  return graph;
}

}  // namespace kiln::interp::capture
