// Owns the loop nest: what one kernel computes, as loads with index maps, a body of scalar instructions and
// stores over axes. The lowest form that knows nothing of a machine. How a machine runs it is a schedule
// beside it (jit/loops/schedule.h).
#pragma once

#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "tensor/fixed_order.h"
#include "tensor/pointwise_params.h"

namespace kiln::jit {

// One step from a tensor in memory to the elements that the loop reads: a broadcast to sizes, or a view of
// the result of the steps before. Index maps compose as layouts do: strides are known when the kernel runs.
struct IndexStep {
  const Op* view = nullptr;  // null: a broadcast
  Dims sizes;                // of the broadcast
  std::vector<Attr> attrs;
  int output = 0;  // which of the views of a split
  friend bool operator==(const IndexStep&, const IndexStep&) = default;
};

struct Load {
  int input = -1;              // among the tensors that the kernel is given,
  int buffer = -1;             // or among the values that an earlier pass kept of the row,
  int column = -1;             // or among the results of reductions down the columns,
  const Op* drawn = nullptr;   // or random numbers, made where they are read,
  const Op* gather = nullptr;  // or what this op selects from `operands`, read a stretch at a time
  std::vector<Attr> attrs;     // of `drawn` or `gather`
  std::vector<Load> operands;  // of `gather`: its operands in memory; no input: the operand is left out
  DType dtype = DType::F32;
  std::vector<IndexStep> steps;
  bool invariant = false;       // one element for the whole nest, or for each row
  bool per_row = false;         // one for each row: the sizes are those of the rows
  bool loop_invariant = false;  // one element for all along the last axis
  bool is_number = false;       // the input is a number, which the host has on every device
  friend bool operator==(const Load&, const Load&) = default;
};

// Is it read through a view of the tensor in memory? Broadcasts are none.
bool shows_view(const Load& load);

// The work of an op for each element, in additions: that of a function such as exp, or of one that is
// computed element by element, is kCostly.
inline constexpr std::int64_t kCostly = 8;
std::int64_t work_of(const Op& op);

using Register = int;  // the instruction that computes it, by position

// One step of the computation for each element. A register holds the value as memory would, so that every
// instruction rounds as the eager op does.
struct Instruction {
  enum class Kind : std::uint8_t {
    Read,  // an element of a load
    Constant,
    Symbol,   // the value of a symbolic size
    Apply,    // the scalar function of an elementwise row
    Convert,  // to another dtype
    Reduced,  // the result of a reduction in an earlier pass over the row
  };
  Kind kind = Kind::Read;
  DType dtype = DType::F32;
  bool invariant = false;  // the same for all elements: computed once
  int index = -1;          // Read, Symbol, Reduced: of the load, the number, the slot
  std::int64_t bits = 0;   // of the constant, as stored
  const Op* op = nullptr;  // Apply
  Compute compute{};       // Apply: the type of its arithmetic
  Params params{};         // Apply
  int failure = -1;        // Apply: its bit in the kernel's result
  std::string message{};   // Apply: the error's sentence then
  std::vector<Register> operands;
  int node = -1;  // of the graph it comes from
};

// The store replaces this view of another tensor, whose other elements the output has around it.
struct ReplacedView {
  Load of;  // the other tensor
  IndexStep view;
};

struct Store {
  Register value = -1;
  DType dtype = DType::F32;
  int output = -1;                   // among the tensors that the kernel makes
  int buffer = -1;                   // or among the values that it keeps of the row for a later pass
  bool per_row = false;              // one element for each row
  std::vector<ReplacedView> around;  // from the whole output inwards; none: the store is the whole output
};

// All elements of a row, or of a column, combined in the fixed order (docs/reductions.md).
struct Reduction {
  Register value = -1;
  cpu::Combine combine{};
  DType accumulator = DType::F32;  // F32, F64 or I64
  int slot = -1;                   // of columns: which of them
  int node = -1;                   // of the graph it comes from
};

// A kernel tells which of its instructions met an element that they are not defined for in a word of so many
// bits.
inline constexpr int kMostFailures = 64;

// One loop. A kernel without reductions is one nest over all of `axes`. With them it is several passes over
// each row, where the last `row_rank` axes are the row; nodes that read results of columns are one more nest
// over those results, after all rows.
struct LoopNest {
  std::string name;
  Dims axes;  // row-major
  int row_rank = 0;
  bool contracts = false;  // a product and the sum that reads it may be rounded once
  std::vector<Load> loads;
  std::vector<Dim> numbers;
  std::vector<Instruction> body;  // in order
  std::vector<Store> stores;
  std::vector<Reduction> reductions;
  std::vector<Reduction> columns;  // down the columns: each combines the rows' elements at its place

  // Must each element be computed just once?
  bool combines() const { return !reductions.empty() || !columns.empty(); }
};

// The work of the nest for each element, in additions.
std::int64_t cost_of(const LoopNest& nest);

// Lines of a nest by number: instructions of the body, then stores, then reductions, then those of columns.
inline std::size_t store_line(const LoopNest& nest, std::size_t store) { return nest.body.size() + store; }
inline std::size_t reduction_line(const LoopNest& nest, std::size_t reduction) {
  return nest.body.size() + nest.stores.size() + reduction;
}
inline std::size_t column_line(const LoopNest& nest, std::size_t column) {
  return reduction_line(nest, nest.reductions.size()) + column;
}

}  // namespace kiln::jit
