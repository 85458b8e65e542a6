// Owns notes on how kernels run, beside their loop nests: products whose epilogue they are, how threads share
// them, where elements are copied before they are read.
#pragma once

#include "jit/cpu/kernel_op.h"

namespace kiln::jit {

// The notes on one kernel, for the sizes and layouts that the graph was made for.
struct KernelNotes {
  // The input that arrives in pieces while a product computes it, and the product's node in the source; -1:
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
