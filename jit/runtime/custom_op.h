// Owns what the files of custom ops share: the record of one, and the sizes that an application has.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/custom.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/interpreted.h"
#include "tensor/levels/custom.h"
#include "tensor/substitute.h"

namespace kiln::jit {

// A row of no table: the op of one function.
struct CustomOp : Op, std::enable_shared_from_this<CustomOp> {
  CustomOp(const Op& row, CustomFunction made);
  CustomFunction function;
  std::vector<std::string> symbols;                     // of the bodies
  std::shared_ptr<const Executable> forward, backward;  // null where the interpreter has them
  mutable std::weak_ptr<const Op> kept_backward;        // while a graph has it
  // Backward bodies that the interpreter has, while graphs have nodes for them, and what waits for those.
  mutable std::vector<std::weak_ptr<const CustomOp>> interpreted_backwards;
  mutable OpenApplications open_applications;
};

inline const CustomOp& custom(const Op& op) { return static_cast<const CustomOp&>(op); }

// One for each symbol of the bodies.
SymbolSizes sizes_of(const CustomOp& op, const Attrs& attrs);
// In a call, where all of them are ints.
SymbolValues values_of(const CustomOp& op, const Attrs& attrs);
// Those that a body has.
SymbolValues values_for(const Graph& body, const SymbolValues& values);
// Throws OpError where the bodies do not hold for these sizes.
void check_sizes(const CustomOp& op, const SymbolSizes& sizes);

// The derivative of one application, `captured` being the operands that are no arguments.
std::shared_ptr<levels::CustomRules> graph_rules(std::shared_ptr<const CustomOp> op, Inputs captured,
                                                 SymbolValues sizes);

}  // namespace kiln::jit
