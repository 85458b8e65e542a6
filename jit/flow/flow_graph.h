// Owns flow graphs: loops of a program with their branches, numbers and exits, as blocks of nodes over one
// list of values. What they mean is what the interpreter does: writes happen in order, views share memory,
// and where something fails the flow leaves in front of it, so that the interpreter does that instruction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

using BlockId = int;
using ExitId = int;
inline constexpr ExitId kCannotFail = -1;

// What a program does with its numbers, as ops that no table has: operands and results are values of rank 0
// whose type `is_number`, of i64 (an int), f64 (a float) or bool. They have the language's meaning to the
// bit. Those marked * fail, and leave by their instruction's exit, where the language raises an error or
// where the result has another kind than the instruction's: an int that leaves 64 bits, a division by zero, a
// negative shift.
enum class NumberOp : std::uint8_t {
  Add,
  Sub,
  Mul,  // * of ints; of floats
  Div,  // * of two ints or two floats: a float
  FloorDiv,
  Mod,  // * rounded down, with the divisor's sign
  Pow,  // * of two ints with an exponent that is not negative; of floats
  And,
  Or,
  Xor,
  Invert,  // of ints; but for Invert of bools
  ShiftLeft,
  ShiftRight,  // * of ints
  Negate,      // * of an int; of a float
  Absolute,    // * of an int; of a float
  Minimum,
  Maximum,  // of two numbers of one kind, as the language's min and max choose
  Equal,
  NotEqual,
  Less,
  LessEqual,   // of two numbers of one kind: a bool. `a > b` is `b < a`.
  Not,         // of a bool
  ToFloat,     // of an int or a bool, rounded to even
  ToInt,       // * of a bool; of a float towards zero
  ToBool,      // of an int or a float: is it not 0?
  Select,      // of a bool and two numbers of one kind
  Item,        // * of a tensor of one element: its number, of the kind that its dtype has
  Index,       // * of an int and a size: the place it counts, a negative one from the end
  SliceBound,  // of an int and a size: the same for a bound of a slice, held within 0 and the size
  Call,        // of floats: what the elementwise row of the table gives that the attribute names
};

// One step of a block. Its op is a row of the table, in the forms of captured graphs (`add_` writes), or the
// op of a NumberOp (number_op). Attributes and operands name numbers of the flow in one of two ways: an
// operand is the value, and sizes, indices and places among attributes are expressions over symbols, of which
// each int has one (symbol_of).
struct FlowStep {
  Node node;
  // What must hold of the symbols, or the flow leaves by the exit before anything is done: what shape rules
  // asked when the step was noted.
  std::vector<SizeGuard> guards;
  ExitId exit = kCannotFail;  // where the step goes when it fails or a guard does not hold
};

// Where a block ends: at another block with values for its parameters, at one of two by a bool, or outside.
struct FlowEnd {
  enum class Kind : std::uint8_t { Jump, Branch, Leave };
  struct Target {
    BlockId block = -1;
    std::vector<Operand> arguments;  // one for each parameter of the block
  };
  Kind kind = Kind::Leave;
  Operand condition;   // Branch: a bool
  Target then, other;  // Jump: `then`
  ExitId exit = 0;     // Leave
  Place place{};
};

struct FlowBlock {
  std::vector<ValueId> parameters;
  std::vector<FlowStep> steps;
  FlowEnd end;
  // Some jump to it goes backwards. Each time that it begins, the flow asks whether the program was
  // interrupted, and then leaves by this exit, if there is one.
  bool begins_loop = false;
  ExitId interrupted = kCannotFail;
};

// What the program needs where the flow is left. Tensors among the values share memory as they do within the
// flow: two views of one tensor are views of one tensor.
struct FlowExit {
  std::vector<Operand> values;
  Place place{};
  std::string reason;     // why it may be left there, for people: "index out of range", "the loop is done"
  bool ends_loop = true;  // the program goes on behind the loop, and not within it
};

// Inputs are the first values. Every int among the inputs has a symbol; each size of a tensor that is an
// expression of one symbol binds that symbol, and so does each stated stride: all symbols of the types of
// inputs are found in this way. Values are defined once, before all uses on every path (blocks dominate their
// uses); types of values that come along several ways are equal by expression.
struct FlowGraph {
  std::string name;    // of the loop, as "lu:5"
  SymbolValues hints;  // of all symbols: those of sizes and of ints that steps are written with
  std::vector<Value> values;
  std::vector<Role> inputs;       // input i is value i
  std::vector<FlowBlock> blocks;  // the flow begins in the first, which has no parameters
  std::vector<FlowExit> exits;
  // Ops that are in no table, as in Graph.
  std::vector<std::shared_ptr<const Op>> own_ops;

  const Type& type(ValueId id) const { return values[static_cast<std::size_t>(id)].type; }
};

// The symbol of an int of the flow: "n7" of value 7.
std::string symbol_of(ValueId number);
// The value of such a symbol; nothing for those of sizes.
std::optional<ValueId> number_of(const std::string& symbol);

// The op of a NumberOp, by which nodes name it, as "number.add". That of Call has the attribute `function`.
const Op& number_op(NumberOp op);
std::optional<NumberOp> number_op_of(const Op& op);

// "n0 = …" by blocks, for people and tests.
std::string to_string(const FlowGraph& flow);
// What is wrong with it; empty when nothing is: types of steps against the rules of their ops, definitions
// before uses, arguments against parameters, exits that are there.
std::string find_fault(const FlowGraph& flow);

// ---- Running ---------------------------------------------------------------------------------------------

// What a flow is given, or holds at an exit: a tensor, or a number by its kind.
struct FlowValue {
  Tensor tensor;
  std::variant<bool, std::int64_t, double> number = false;
};
struct FlowResult {
  ExitId exit = 0;
  std::vector<FlowValue> values;  // those of the exit
  std::int64_t iterations = 0;    // how often a block was come to that begins a loop
};

// What steps push on and pop off (jit/flow/flow_stack.h). A flow has steps of one kind alone.
struct FlowStack;
struct FlowStacks {
  FlowStack* pushed = nullptr;
  const FlowStack* popped = nullptr;  // stays as it is
};

// A flow that can run. Tensors that it writes get new versions, as any write gives them. It throws nothing of
// the program's: where the program fails or is interrupted, it leaves by an exit.
class RunnableFlow {
 public:
  virtual ~RunnableFlow() = default;
  FlowResult run(std::span<const FlowValue> inputs) { return run(inputs, {}); }
  // Leaves by kCannotFail, having done nothing, where it cannot pop what was pushed in another form.
  virtual FlowResult run(std::span<const FlowValue> inputs, const FlowStacks& stacks) = 0;
};

// Step by step with the kernels of the ops: the oracle that compiled flows are compared with.
std::unique_ptr<RunnableFlow> evaluated(std::shared_ptr<const FlowGraph> flow);
// The same with gradients recorded op by op, as where the program runs the loop.
std::unique_ptr<RunnableFlow> recorded(std::shared_ptr<const FlowGraph> flow);
// The same within the transforms that are under way, and with gradients recorded where they are.
std::unique_ptr<RunnableFlow> by_steps(std::shared_ptr<const FlowGraph> flow);
// As machine code (jit/llvm/flow_*): loops are loops, numbers and tensors of rank 0 are registers, views are
// addresses, ops on few elements are loops in the documented order, others are calls of the op's kernel.
// Gives nothing, with the reason, where the flow has what code cannot be made of.
struct CompiledFlow {
  std::unique_ptr<RunnableFlow> run;  // null: `reason`
  std::string reason;
  std::size_t code_bytes = 0;
};
CompiledFlow compile_flow(std::shared_ptr<const FlowGraph> flow);

}  // namespace kiln::jit
