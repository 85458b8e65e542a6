// Owns reading rules written over tensors as steps over values: the body of a composite op, the scatter that
// undoes a view. A rule is run on tensors without elements while a level notes what goes through `bind`.
#pragma once

#include <functional>
#include <optional>

#include "jit/graph/rewrite.h"

namespace kiln::jit {

// Steps over slots: the operands come first, then the results of each step.
struct Fragment {
  struct Step {
    const Op* op = nullptr;  // null: a constant
    std::vector<GraphAttr> attrs;
    std::vector<Operand> operands;  // values are slots
    std::size_t results = 1;
    Tensor constant;
    // A real number may be given as an integer of the same value; known where there are symbols.
    bool takes_integers = false;
  };
  std::size_t inputs = 0;
  std::vector<Step> steps;
  std::vector<Operand> outputs;

  // The slot that an output is a view of, by views alone: an operand or a result of another kind of step.
  int view_root(std::size_t output) const;
};

// What a rule is given: tensors with the layouts that the operands have when the symbols have some values.
struct TraceOperand {
  Operand operand;
  DType dtype = DType::F32;
  Device device;
  std::function<Layout(const SymbolValues&)> layout;  // of a value
  bool follows = true;                                // may symbols change its sizes or strides?
};
using Body = std::function<Tensors(Inputs operands, const SymbolValues& symbols)>;

// Runs `body` at the hints and, when there are symbols, at other assignments; attributes that differ become
// expressions of the symbols. Nothing when there are no such expressions, the steps differ, or the body asks
// for elements. `expands` says which ops are replaced by their bodies. `follows`: the body itself may look at
// symbols. Where neither it nor an operand follows any, the steps at the hints are those at all values.
std::optional<Fragment> trace(const Body& body, std::span<const TraceOperand> operands,
                              const SymbolValues& hints, bool (*expands)(const Op&), bool follows = true);

bool is_composite(const Op& op);            // has a body over smaller ops
bool differentiates_by_body(const Op& op);  // is recorded by the tape as the smaller ops of its body
bool expands_nothing(const Op& op);
bool has_no_kernel(const Op& op);  // likewise, and is the smaller ops also where nothing is recorded

// Appends the steps, with `operands` in the slots of the inputs, and gives all slots.
std::vector<Operand> inline_steps(Builder& builder, const Fragment& fragment, std::vector<Operand> operands,
                                  const Node& like, std::string name = {});
// Likewise, and gives the outputs.
std::vector<Operand> inline_fragment(Builder& builder, const Fragment& fragment,
                                     std::vector<Operand> operands, const Node& like, std::string name = {});

}  // namespace kiln::jit
