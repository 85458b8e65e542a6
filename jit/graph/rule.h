// Owns the derivative of one step as a body to trace: the rule of its op on values of a graph.
#pragma once

#include <algorithm>

#include "jit/graph/trace.h"

namespace kiln::jit {

// A step of the tape whose rule is run.
struct RuleCall {
  const Op* op = nullptr;
  std::vector<Attr> attrs;
  std::vector<Type> input_types, output_types;
  std::vector<bool> needs;          // the inputs whose gradients are asked for
  std::vector<std::size_t> places;  // of what is given, among the inputs, the outputs and their gradients
};

// Which values the rule reads for the gradients of inputs that have a history; of a list, the last bit stands
// for its input and all that follow.
Saves saves_of(const Op& op, const std::vector<bool>& has_history);
inline bool has_bit(std::uint32_t bits, std::size_t i) {
  return ((bits >> std::min<std::size_t>(i, 31)) & 1U) != 0;
}

// Why the derivative of what has this name is no graph.
std::string no_graph_of(std::string_view name, const SymbolValues& hints);

// Gives a gradient per input, absent where none is asked for. What is not given of the outputs' gradients is
// zeros.
Body rule_of(RuleCall call);

}  // namespace kiln::jit
