#include "jit/graph/slices.h"

#include <optional>

#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

struct CutDim {
  std::size_t dim;
  Cut cut;
};

std::optional<std::int64_t> known(const Attr& attr) {
  const Dim* const size = std::get_if<Dim>(&attr);
  if (size == nullptr || !size->is_known()) return std::nullopt;
  return size->known();
}

std::optional<CutDim> cut_by(const Graph& graph, const Node& node) {
  if (node.is_constant() || node.op != &core_ops().slice || !node.is_view()) return std::nullopt;
  if (known(node.attr("step")) != 1) return std::nullopt;
  const Dims& from = graph.values[static_cast<std::size_t>(node.operands[0].value)].type.sizes;
  const Dims& to = graph.values[static_cast<std::size_t>(node.outputs[0])].type.sizes;
  const std::int64_t dim = *known(node.attr("dim"));
  const auto at = static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(from.size()) : dim);
  const Attr& start = node.attr("start");
  const std::optional<std::int64_t> front = std::get_if<Dim>(&start) == nullptr ? 0 : known(start);
  const bool is_empty = to[at].is_known() && to[at].known() == 0;
  if (!front || *front < 0 || is_empty) return std::nullopt;
  // Where a slice was clipped, the difference of its sizes is another one.
  const Dim end = from[at] - *front - to[at];
  if (!end.is_known() || end.known() < 0) return std::nullopt;
  return CutDim{at, {*front, end.known()}};
}

}  // namespace

Cuts joined(const Cuts& a, const Cuts& b) {
  Cuts both = a;
  for (std::size_t d = 0; d < both.size(); ++d) {
    both[d].front += b[d].front;
    both[d].end += b[d].end;
  }
  return both;
}

bool is_box(const Graph& graph, const Node& node) { return cut_by(graph, node).has_value(); }

Box box_of(const Graph& graph, std::span<const int> producers, ValueId id) {
  Box box{id, Cuts(graph.values[static_cast<std::size_t>(id)].type.sizes.size())};
  while (true) {
    const int place = producers[static_cast<std::size_t>(box.base)];
    if (place < 0) return box;
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    const std::optional<CutDim> found = cut_by(graph, node);
    if (!found) return box;
    box.cuts[found->dim].front += found->cut.front;
    box.cuts[found->dim].end += found->cut.end;
    box.base = node.operands[0].value;
  }
}

Dims sizes_within(Dims sizes, const Cuts& cuts) {
  for (std::size_t d = 0; d < cuts.size(); ++d) sizes[d] = sizes[d] - cuts[d].front - cuts[d].end;
  return sizes;
}

ValueId append_box(Rewriter& rewriter, ValueId base, const Cuts& cuts, const Node& like) {
  ValueId now = base;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    if (cuts[d] == Cut{}) continue;
    const Attr end = cuts[d].end == 0 ? Attr() : Attr(Dim(-cuts[d].end));
    Node node;
    node.op = &core_ops().slice;
    node.attrs = {Dim(static_cast<std::int64_t>(d)), Dim(cuts[d].front), end, Dim(1)};
    node.operands = {Operand::of(now)};
    node.place = like.place;
    node.origin = like.origin;
    Type type = rewriter.type(now);
    type.sizes[d] = type.sizes[d] - cuts[d].front - cuts[d].end;
    type.strides.reset();
    now = rewriter.append(std::move(node), {std::move(type)})[0];
  }
  return now;
}

}  // namespace kiln::jit
