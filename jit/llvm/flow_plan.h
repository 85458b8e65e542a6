// Owns what the program works out of a flow graph before code is made of it: the library around LLVM has no
// table of ops, and sees plain records alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/flow/flow_graph.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

// The memory of results that a step makes. The flow's run has slots; a result takes the first of `count`
// slots from `first` on whose memory none of `held` shows, which are values that live on and may show an
// earlier result of the same step. `first` is -1 where the result needs no memory.
struct FlowMemory {
  int first = -1;
  int count = 1;
  std::vector<ValueId> held;
};

struct FlowStepPlan {
  enum class Kind : std::uint8_t {
    OfNumbers,  // `number`; of Call by `application`
    View,       // an address
    Pointwise,  // a scalar function for each element: `application`
    Reduce,     // all elements of some dimensions combined: `combine`
    Product,    // sums of products
    Copy,       // elements of the last operand, converted; with `dims`: backwards along these
    Pick,       // elements of the first operand, a vector, at the places that the second one counts
    Fill,       // one number everywhere: `filled`, or the first operand
    Join,       // the operands one after the other along the dimension in `dims`
    Push,       // the operand goes on the stack
    Pop,        // and comes off it
    Call,       // the kernel of the op
  };
  Kind kind = Kind::Call;
  // Pointwise or Copy of operands without dimensions, whose result has none either; or Pop of such a result.
  bool of_elements = false;
  // The one loop that reads it computes the elements where it reads them, unless it is a call there.
  bool deferred = false;
  NumberOp number{};
  // Op, arithmetic, parameters and the dtype of the result, of a step that writes that of its target; `index`
  // is its place among the eager kernels that a run has. Not 0 as `failure`: the function may refuse
  // elements.
  Instruction application;
  cpu::Combine combine{};
  std::vector<bool> dims;  // of Reduce: is the operand's dimension reduced?
  std::optional<std::int64_t> filled;
  int call = -1;                     // the step's number among all that may be called
  std::vector<SizeGuard> guards;     // beside those of the step: what its layouts are right for
  std::vector<std::string> symbols;  // of its attributes, in order: a call is given their values
  std::vector<FlowMemory> memory;    // by output
  // The slot in which a write by a loop is computed first where its target shares memory with what it reads.
  int apart = -1;
};

struct FlowValuePlan {
  // Sizes and strides over symbols; of a view the offset from the first element of what it shows.
  Layout layout;
  // The tensor has no dimensions, no step writes it or shows it through a view, and no exit compares its
  // address: its only element is kept in a register.
  bool in_register = false;
  std::string symbol;  // of an int
};

// Where the value of a symbol is found when the flow begins: at an input that is a number, or at a size or
// stride of one.
struct FlowSymbol {
  std::string name;
  ValueId input = 0;
  int dim = -1;  // -1: the number itself
  bool is_stride = false;
};

struct FlowPlan {
  const FlowGraph* flow = nullptr;
  std::vector<std::vector<FlowStepPlan>> steps;  // by block
  std::vector<FlowValuePlan> values;
  std::vector<FlowSymbol> symbols;
  std::vector<const Instruction*> kernels;  // whose eager kernels a run has, by their index
  struct Called {
    BlockId block;
    std::size_t step;
  };
  std::vector<Called> calls;
  int slots = 0;
  std::vector<bool> written;  // by input: may the flow write it?

  const FlowStepPlan& step(BlockId block, std::size_t step) const {
    return steps[static_cast<std::size_t>(block)][step];
  }
  const FlowValuePlan& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
};

}  // namespace kiln::jit
