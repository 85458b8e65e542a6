#include "jit/graph/layouts.h"

#include "jit/shape_rules.h"

namespace kiln::jit {

Layout layout_of_type(const Type& type) {
  return {type.sizes, type.strides ? *type.strides : contiguous_strides(type.sizes), 0};
}

Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id) {
  const Type& type = graph.values[static_cast<std::size_t>(id)].type;
  const int place = producers[static_cast<std::size_t>(id)];
  if (place < 0 || type.strides) return layout_of_type(type);
  const Node& node = graph.nodes[static_cast<std::size_t>(place)];
  const bool views = node.applies_view() || node.writes_layout();
  if (!views && !node.writes()) return layout_of_type(type);
  const Operand& viewed = node.viewed();  // which may be a number of the program
  const Layout source = viewed.is_value() ? layout_of(graph, producers, viewed.value) : Layout{};
  if (!views) return source;
  return layout_of_view(*node.op, source, to_attrs(*node.op, node.attrs),
                        static_cast<std::size_t>(id - node.outputs[0]));
}

Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id,
                 const SymbolValues& symbols) {
  const SizeScope scope(symbols);
  return at_hints(layout_of(graph, producers, id));
}

Layout layout_of_view(const Op& op, const Layout& source, const Attrs& attrs, std::size_t output) {
  const std::vector<Layout> views = op.view(source, attrs);
  if (output < views.size()) return views[output];
  throw OpError(ErrorKind::Capture, std::string(op.name()) + " gives fewer tensors for these sizes");
}

const Op* view_undone_by(const Op& scatter) {
  const auto* facts = scatter.lowering.as<lowering::Scatter>();
  return facts == nullptr ? nullptr : facts->view;
}

std::span<const int> Producers::of(const Graph& graph) {
  producers_.resize(graph.values.size(), -1);
  for (; nodes_ < graph.nodes.size(); ++nodes_) {
    for (const ValueId id : graph.nodes[nodes_].outputs) {
      producers_[static_cast<std::size_t>(id)] = static_cast<int>(nodes_);
    }
  }
  return producers_;
}

std::vector<TraceOperand> trace_operands(const Graph& graph, std::span<const int> producers,
                                         const Node& node) {
  std::vector<TraceOperand> result;
  for (const Operand& each : node.operands) {
    const Type type = operand_type(graph, each);
    result.push_back({each, type.dtype, type.device,
                      [&graph, producers, id = each.value] { return layout_of(graph, producers, id); },
                      type.is_number});
  }
  return result;
}

}  // namespace kiln::jit
