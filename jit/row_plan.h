// Owns where the elements of a kernel's rows lie: worked out once per layouts of the inputs and values of the
// symbols.
#pragma once

#include "jit/kernel.h"

namespace kiln::jit {

// Where rows need not be whole, they are cut into pieces of this length.
inline constexpr std::int64_t kColumnTile = 1024;

struct RowLoadPlan {
  cpu::Distribution distribution;  // of random numbers
  GatherPlan gather;               // of a gather load
  std::vector<Layout> laid_out;    // see ShownLayout
  Layout layout;                   // as it is read, over all axes; of what is per row: over the rows
  bool copied = false;             // to contiguous memory first
  Dims outer;                      // sizes and strides along the rows, merged where they can be
  Dims strides;
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
  std::vector<RowLoadPlan> loads;  // empty ones for what passes keep
  std::vector<std::int64_t> numbers;
};
struct RowPlan {
  Dims symbols;
  std::vector<Layout> inputs;
  std::vector<Dims> outputs;
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::int64_t sequence = 1;  // how many rows after each other reductions down the columns combine
  Dims columns;               // the sizes that these leave, with dimensions of size 1
  // How many rows may be gone through as one: what is read lies so, and what is made.
  std::int64_t rows_at_once = 1;
  std::vector<PassPlan> passes;
};

RowPlan plan_rows(const Lowered& lowered, std::vector<Layout> inputs, const Dims& symbols,
                  const SymbolValues& values);
// Few long rows: each pass goes over all of them, in blocks that threads share.
bool goes_pass_by_pass(const RowPlan& plan);

}  // namespace kiln::jit
