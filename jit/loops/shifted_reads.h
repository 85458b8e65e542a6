// Owns the decision which values are computed where kernels read them, at several shifted places each, as
// stencils of stencils do, instead of being passed on through memory.
#pragma once

#include <string>
#include <vector>

#include "jit/graph/slices.h"

namespace kiln::jit {

// A value that kernels read in boxes alone.
struct ShiftedRead {
  ValueId value = Operand::kAbsent;
  std::vector<Cuts> boxes;    // each once
  std::vector<int> nodes;     // that compute the value and nothing else, in order
  std::vector<Box> operands;  // of these nodes, as they are stored: each once
  std::int64_t more = 0;      // additions for each element, if each box is computed by itself,
  std::int64_t saved = 0;     // and what the way through memory costs, in additions
  std::string why_not;        // it cannot be computed in its readers, whatever it costs

  bool pays() const { return why_not.empty() && more <= saved; }
};

// Each value of a functional graph that kernels read in boxes alone, from the last to the first.
std::vector<ShiftedRead> shifted_reads(const Graph& graph);
// For people: why it is computed in its readers, and why it is passed on through memory.
std::string why_computed_again(const ShiftedRead& read);
std::string why_not_computed_again(const ShiftedRead& read);

// By dimension of an operand, the cuts of the result: where the operand is broadcast, nothing is cut.
Cuts cuts_of_operand(const Dims& operand, const Dims& result, const Cuts& cuts);

}  // namespace kiln::jit
