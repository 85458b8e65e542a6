// Owns what is told of how kernels run beside what their loop nests say: products that they take along, what
// is shared among threads, where elements are laid out anew before they are read.
#pragma once

#include "jit/fused.h"

namespace kiln::jit {

// Of one kernel, for the sizes and layouts that the graph was made for.
struct KernelNotes {
  // The input that comes piece by piece as a product is made, and the node of the source that makes it; -1:
  // none.
  int input_in_pieces = -1;
  int product = -1;
  std::string shared;                           // "in threads", "in pieces of in0"
  std::vector<std::vector<std::string>> loads;  // by pass: "copied in tiles first"; empty: read in place
  std::vector<std::vector<std::string>> stores;
};

// In the order of `kernels_of`.
std::vector<KernelNotes> kernel_notes(const Graph& fused);

}  // namespace kiln::jit
