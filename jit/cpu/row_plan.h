// Owns the places of the elements of a kernel's rows: computed once for layouts of the inputs and values of
// the symbols.
#pragma once

#include "jit/cpu/kernel.h"

namespace kiln::jit {

// Rows that need not be whole are cut into pieces of this length.
inline constexpr std::int64_t kColumnTile = 1024;

struct RowLoadPlan {
  Distribution distribution;     // of random numbers
  GatherPlan gather;             // of a gather load
  std::vector<Layout> laid_out;  // see ShownLayout
  Layout layout;                 // over all axes; of one element a row, over the rows
  bool copied = false;           // to contiguous memory first
  IntDims outer;                 // sizes along the rows, merged where possible, and their strides
  IntDims strides;
  std::int64_t offset = 0;
  bool constant = false;  // one element for the whole row

  std::int64_t at(std::int64_t row) const {
    if (outer.size() == 1) return offset + row * strides[0];
    std::int64_t place = offset;
    for (std::size_t d = outer.size(); d-- > 0; row /= outer[d]) place += row % outer[d] * strides[d];
    return place;
  }
};
struct PassPlan {
  std::vector<RowLoadPlan> loads;  // empty ones for values that passes keep
  std::vector<std::int64_t> numbers;
};
struct RowPlan {
  Dims symbols;
  std::vector<Layout> inputs;
  std::vector<Dims> outputs;
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::int64_t sequence = 1;  // how many consecutive rows a reduction down the columns combines
  Dims columns;               // the sizes of its results, with dimensions of size 1
  // How many rows may be gone through as one, since their elements are contiguous in loads and stores.
  std::int64_t rows_at_once = 1;
  std::vector<PassPlan> passes;
};

RowPlan plan_rows(const Lowered& lowered, std::vector<Layout> inputs, const Dims& symbols,
                  const SymbolValues& values);
// Are the rows few and long? Then each pass goes over all of them, in blocks that threads share.
bool goes_pass_by_pass(const RowPlan& plan);

}  // namespace kiln::jit
