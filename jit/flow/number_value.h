// Owns what a program's numbers come to: the meaning of each NumberOp on the values of one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

using FlowNumber = std::variant<bool, std::int64_t, double>;

// Nothing where the language raises an error, or gives a number of another kind. The operands have the kinds
// that the op takes. `op` is neither Item nor Call, which read tensors or name another op.
std::optional<FlowNumber> compute(NumberOp op, std::span<const FlowNumber> operands);

// The number as an operand of ops, and the only element of a tensor as a number of the kind that its dtype
// has. Throws OpError (Value) where there is not exactly one element.
Tensor to_tensor(const FlowNumber& number);
FlowNumber to_number(const Tensor& x);

}  // namespace kiln::jit
