// Owns what functionalization knows of memory: which captured values lie in one memory, and which inputs must
// be seen as one.
#pragma once

#include <vector>

#include "jit/graph.h"

namespace kiln::jit {

// Captured values by the memory they lie in. A memory is named by the value that first lay in it.
struct Memories {
  std::vector<ValueId> root;  // of each value
  std::vector<bool> written;  // of each root
  std::vector<bool> viewed;   // of each root: some value is a view of it
  // Of each root: the end of what its views see that count from the start of the storage (as_strided), 0
  // without such.
  std::vector<std::int64_t> reach;
  // Of each value: the first that is the same tensor, as `x` for the result of `x.add_(1)`.
  std::vector<ValueId> object;
};
Memories memories_of(const Graph& graph);
// Does the view count from the start of the storage, wherever in it the source begins?
bool views_storage(const Node& view, Layout source, const SymbolValues& hints);

// Inputs that become views of one flat base, in order of the inputs: those that share elements when one of
// them is written, and one alone that is written and whose views need the memory to be as it was: because it
// does not lie in memory row by row, or because they count from the start of the storage.
struct BaseGroup {
  std::vector<int> inputs;
  std::int64_t elements = 0;  // of the base
};
// Throws OpError (Capture) when the sizes of such inputs are symbols, or their dtypes differ.
std::vector<BaseGroup> base_groups(const Graph& graph, const Memories& memories);

}  // namespace kiln::jit
