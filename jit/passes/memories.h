// Owns the analysis of memory before functionalization: which captured values share one memory, and which
// inputs must be seen as one.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Captured values by memory. A memory is named by the first value in it.
struct Memories {
  std::vector<ValueId> root;  // of each value
  std::vector<bool> written;  // of each root
  // Of each root: the end of the elements that views by places in the storage (as_strided) see; 0 without
  // such.
  std::vector<std::int64_t> reach;
};
Memories memories_of(const Graph& graph);

// The places in the storage that a node of an op with kCountsPlaces reads or writes, if its first operand has
// this layout.
Layout places_of(const Node& node, const Layout& operand, const SymbolValues& hints);

// Inputs that become views of one flat base, in order of the inputs: those that share elements when one of
// them is written, and one alone that is written and has views that count places.
struct BaseGroup {
  std::vector<int> inputs;
  std::int64_t elements = 0;  // of the base, which begins at the start of the storage
  // Elements may be written that belong to no member; so the base is written back as a whole.
  bool is_written_whole = false;
};
// Throws OpError (Capture) when the dtypes of such inputs differ, or their sizes are symbols, which do not
// tell which elements are shared.
std::vector<BaseGroup> base_groups(const Graph& graph, const Memories& memories);

// Row-major where the type does not say them.
Dims strides_of(const Type& type);

}  // namespace kiln::jit
