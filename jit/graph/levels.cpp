#include "jit/graph/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "jit/graph/text.h"
#include "tensor/ops/reduced.h"

namespace kiln::jit {

Dims Space::kept_rows() const {
  Dims kept = axes;
  std::fill(kept.end() - row_rank, kept.end(), Dim(1));
  return kept;
}
Dims Space::row_sizes() const { return {axes.begin(), axes.end() - row_rank}; }
Dims Space::kept_columns() const {
  Dims kept = axes;
  std::fill(kept.end() - row_rank - column_rank, kept.end() - row_rank, Dim(1));
  return kept;
}
Dims Space::column_sizes() const {
  Dims left(axes.begin(), axes.end() - row_rank - column_rank);
  left.append(axes.end() - row_rank, axes.end());
  return left;
}

std::string space_of_reduction(const Graph& graph, const Node& node, Space& space) {
  if (node.op->lowering.as<lowering::Reduce>() == nullptr)
    return std::string(node.op->name()) + " is one kernel of its own";
  space.axes = graph.values[static_cast<std::size_t>(node.operands[0].value)].type.sizes;
  const int rank = static_cast<int>(space.axes.size());
  const Dims dims = ops::reduced_dims(evaluate(*node.op, node.attrs, {}), rank);
  if (dims.empty()) return "a number is no row";
  const int count = static_cast<int>(dims.size());
  if (dims.back() - dims.front() != count - 1) return "it reduces dimensions that do not lie side by side";
  const int after = rank - 1 - static_cast<int>(dims.back());
  space.row_rank = after == 0 ? count : after;
  space.column_rank = after == 0 ? 0 : count;
  return "";
}

namespace {

class Finder {
 public:
  Finder(const Graph& graph, const Space& space)
      : graph_(graph),
        space_(space),
        has_batches_(space.axes.size() > static_cast<std::size_t>(space.row_rank + space.column_rank)),
        kept_rows_(space.kept_rows()),
        kept_columns_(space.kept_columns()),
        column_sizes_(space.column_sizes()),
        levels_(graph.values.size()) {}

  // Empty when the node has a level.
  std::string add(int place) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
    Level level = Level::Element;
    std::string why;
    if (node.op->lowering == Lowering::Reduce) {
      why = reduction(node, level);
    } else if (!node.op->lowering.as<lowering::Gather>() && !node.op->lowering.as<lowering::Draw>()) {
      why = elementwise(node, level);
    } else if (!same(sizes(node.outputs[0]), space_.axes)) {
      why = fmt::format("{} gives other elements", node.op->name());
    }
    levels_[static_cast<std::size_t>(node.outputs[0])] = level;
    return why;
  }
  // Nothing for what the kernel does not make.
  std::optional<Level> at(ValueId id) const {
    return id < 0 ? std::nullopt : levels_[static_cast<std::size_t>(id)];
  }

 private:
  const Dims& sizes(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type.sizes; }

  std::string reduction(const Node& node, Level& level) const {
    Space own;
    if (std::string why = space_of_reduction(graph_, node, own); !why.empty()) return why;
    level = own.column_rank > 0 ? Level::Column : Level::Row;
    const std::optional<Level> reduced = at(node.operands[0].value);
    if (!reduced || *reduced == Level::Element) return "";
    return fmt::format("{} of a reduction is reduced again", text_of(sizes(node.operands[0].value)));
  }

  std::string elementwise(const Node& node, Level& level) const {
    const Dims& made = sizes(node.outputs[0]);
    level = level_of(node);
    for (const Operand& each : node.operands) {
      const std::optional<Level> read = at(each.value);
      if (!read) continue;
      if (*read == Level::Column && level != Level::Column) return kWhenDone;
      if (!is_read_in_place(each.value, *read, level, made))
        return fmt::format("{} is read across rows", text_of(sizes(each.value)));
    }
    if (level != Level::Column) return "";
    // Beside other tensors it would have to be read with dimensions of size 1.
    const bool fits = same(made, kept_columns_) || (same(made, column_sizes_) && !has_batches_);
    return fits ? "" : kWhenDone;
  }
  static constexpr const char* kWhenDone = "it is known when all rows are done, and read for each of them";

  Level level_of(const Node& node) const {
    const bool reads_columns =
        std::any_of(node.operands.begin(), node.operands.end(),
                    [this](const Operand& each) { return at(each.value) == Level::Column; });
    const Dims& made = sizes(node.outputs[0]);
    if (reads_columns && (!same(made, space_.axes) || same(made, kept_columns_))) return Level::Column;
    return same(made, space_.axes) ? Level::Element : Level::Row;
  }

  // A number of the row is read for that row, that of a column for the column: not as tensors that broadcast
  // otherwise.
  bool is_read_in_place(ValueId id, Level from, Level to, const Dims& made) const {
    const Dims& read = sizes(id);
    if (from == Level::Element) return to == Level::Element;
    if (read.empty()) return true;
    if (from == Level::Row)
      return to != Level::Column && (same(read, kept_rows_) || (to == Level::Row && same(read, made)));
    return same(read, kept_columns_) || same(read, made) || (same(read, column_sizes_) && !has_batches_);
  }

  const Graph& graph_;
  const Space& space_;
  bool has_batches_;
  Dims kept_rows_, kept_columns_, column_sizes_;
  std::vector<std::optional<Level>> levels_;  // of what the kernel makes
};

}  // namespace

Levels find_levels(const Graph& graph, std::span<const int> nodes, const Space& space) {
  Finder finder(graph, space);
  Levels levels;
  for (const int place : nodes) {
    if (levels.why_not = finder.add(place); !levels.why_not.empty()) return levels;
    levels.of.push_back(*finder.at(graph.nodes[static_cast<std::size_t>(place)].outputs[0]));
  }
  return levels;
}

bool has_short_rows(const Space& space, const SymbolValues& hints, std::int64_t short_row) {
  if (!space.reduces() || space.column_rank > 0) return false;
  const Dims row(space.axes.end() - space.row_rank, space.axes.end());
  return count_elements(evaluate(row, hints)) < short_row;
}
bool has_row_of_fixed_size(const Space& space) {
  return std::all_of(space.axes.end() - space.row_rank, space.axes.end(),
                     [](Dim each) { return each.is_known(); });
}

}  // namespace kiln::jit
