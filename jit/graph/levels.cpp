#include "jit/graph/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "jit/graph/text.h"
#include "tensor/ops/reduced.h"

namespace kiln::jit {

Sizes Space::kept_rows() const {
  Sizes kept = axes;
  std::fill(kept.end() - row_rank, kept.end(), Size(1));
  return kept;
}
Sizes Space::row_sizes() const { return {axes.begin(), axes.end() - row_rank}; }
Sizes Space::kept_columns() const {
  Sizes kept = axes;
  std::fill(kept.end() - row_rank - column_rank, kept.end() - row_rank, Size(1));
  return kept;
}
Sizes Space::column_sizes() const {
  Sizes left = axes;
  left.erase(left.end() - row_rank - column_rank, left.end() - row_rank);
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
    } else if (sizes(node.outputs[0]) != space_.axes) {
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
  const Sizes& sizes(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type.sizes; }

  std::string reduction(const Node& node, Level& level) const {
    Space own;
    if (std::string why = space_of_reduction(graph_, node, own); !why.empty()) return why;
    level = own.column_rank > 0 ? Level::Column : Level::Row;
    const std::optional<Level> reduced = at(node.operands[0].value);
    if (!reduced || *reduced == Level::Element) return "";
    return fmt::format("{} of a reduction is reduced again", to_string(sizes(node.operands[0].value)));
  }

  std::string elementwise(const Node& node, Level& level) const {
    const Sizes& made = sizes(node.outputs[0]);
    level = level_of(node);
    for (const Operand& each : node.operands) {
      const std::optional<Level> read = at(each.value);
      if (!read) continue;
      if (*read == Level::Column && level != Level::Column) return kWhenDone;
      if (!is_read_in_place(each.value, *read, level, made))
        return fmt::format("{} is read across rows", to_string(sizes(each.value)));
    }
    if (level != Level::Column) return "";
    // Beside other tensors it would have to be read with dimensions of size 1.
    const bool fits = made == kept_columns_ || (made == column_sizes_ && !has_batches_);
    return fits ? "" : kWhenDone;
  }
  static constexpr const char* kWhenDone = "it is known when all rows are done, and read for each of them";

  Level level_of(const Node& node) const {
    const bool reads_columns =
        std::any_of(node.operands.begin(), node.operands.end(),
                    [this](const Operand& each) { return at(each.value) == Level::Column; });
    const Sizes& made = sizes(node.outputs[0]);
    if (reads_columns && (made != space_.axes || made == kept_columns_)) return Level::Column;
    return made == space_.axes ? Level::Element : Level::Row;
  }

  // A number of the row is read for that row, that of a column for the column: not as tensors that broadcast
  // otherwise.
  bool is_read_in_place(ValueId id, Level from, Level to, const Sizes& made) const {
    const Sizes& read = sizes(id);
    if (from == Level::Element) return to == Level::Element;
    if (read.empty()) return true;
    if (from == Level::Row)
      return to != Level::Column && (read == kept_rows_ || (to == Level::Row && read == made));
    return read == kept_columns_ || read == made || (read == column_sizes_ && !has_batches_);
  }

  const Graph& graph_;
  const Space& space_;
  bool has_batches_;
  Sizes kept_rows_, kept_columns_, column_sizes_;
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
  const Sizes row(space.axes.end() - space.row_rank, space.axes.end());
  return count_elements(evaluate(row, hints)) < short_row;
}
bool has_row_of_fixed_size(const Space& space) {
  return std::all_of(space.axes.end() - space.row_rank, space.axes.end(),
                     [](const Size& each) { return each.is_constant(); });
}

}  // namespace kiln::jit
