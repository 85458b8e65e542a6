// Owns the lowering of a group of nodes to loop nests, which say what is computed and know no device.
#pragma once

#include <set>
#include <string>

#include "jit/loops/fuse.h"
#include "jit/loops/loops.h"
#include "jit/passes/lowerable.h"

namespace kiln::jit {

struct KernelOutput {
  DType dtype = DType::F32;
  Dims sizes;
};
struct Lowered {
  std::vector<LoopNest> passes;       // one; or those over each row, then one over columns, if any
  std::vector<ValueId> inputs;        // the kernel's inputs, in the order of Load::input
  std::vector<KernelOutput> outputs;  // in the order of Store::output
  std::vector<DType> buffers;         // values that passes keep of a row
  std::vector<Reduction> slots;       // by slot
  std::vector<Reduction> columns;     // likewise
  int column_rank = 0;                // how many axes before the row are reduced down the columns

  std::span<const LoopNest> row_passes() const {
    return {passes.data(), passes.size() - (columns.empty() ? 0 : 1)};
  }
};

// The symbols in the kernel's sizes.
std::set<std::string> symbols_of(const Lowered& kernel);

Lowered lower(const Graph& graph, const Group& group, std::string name);
// Of a group with reductions.
Lowered lower_rows(const Graph& graph, const Group& group, std::string name);

}  // namespace kiln::jit
