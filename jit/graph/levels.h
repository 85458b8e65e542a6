// Owns what the loop of a kernel goes through, and what its values have one number for: each element, each
// row or each column.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// The axes of a kernel. With reductions they are, from the outside: batches, the rows that reductions down
// the columns combine, and the row.
struct Space {
  Dims axes;
  int row_rank = 0;     // how many axes are the row; 0: no reductions
  int column_rank = 0;  // how many axes before the row reductions down the columns go through; 0: none do

  bool reduces() const { return row_rank > 0; }
  // What reductions leave of the axes, with and without dimensions of size 1.
  Dims kept_rows() const;
  Dims row_sizes() const;
  Dims kept_columns() const;
  Dims column_sizes() const;
};

enum class Level : std::uint8_t {
  Element,
  Row,
  Column,  // known when all rows are done
};

// How a reduction goes through its operand. Empty, or why no kernel does that.
std::string space_of_reduction(const Graph& graph, const Node& node, Space& space);

struct Levels {
  std::vector<Level> of;  // by node
  std::string why_not;    // not empty: the nodes cannot be one kernel over the space
};
// `nodes` in order; with reductions.
Levels find_levels(const Graph& graph, std::span<const int> nodes, const Space& space);

// Are the rows shorter than `short_row`, where a target goes through several of them side by side? Is their
// size the same in all calls?
bool has_short_rows(const Space& space, const SymbolValues& hints, std::int64_t short_row);
bool has_row_of_fixed_size(const Space& space);

}  // namespace kiln::jit
