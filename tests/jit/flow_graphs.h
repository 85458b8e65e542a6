// Owns a builder of flow graphs for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/flow/flow_writer.h"
#include "tests/tensor/tensors.h"

namespace kiln::jit::testing {

// Values, blocks and exits are numbered in the order in which they are made. The fault of what was built is
// the caller's to ask for.
class FlowBuilder : public FlowWriter {
 public:
  explicit FlowBuilder(std::string name) { flow.name = std::move(name); }

  // ---- Values ----
  ValueId input_int(std::int64_t hint);
  ValueId input_float();
  // Sizes that are symbols get the hint 4.
  ValueId input(DType dtype, Dims sizes);
  // A parameter of the block under way.
  ValueId parameter_int(std::int64_t hint);

  // ---- Blocks ----
  // The block under way begins a loop, which is left by this exit when it is interrupted.
  void begins_loop(ExitId interrupted);
  void jump(BlockId to, std::vector<Operand> arguments = {});
  void branch(Operand condition, FlowEnd::Target then, FlowEnd::Target other);
  void leave(ExitId exit);

  // ---- Steps of the block under way ----
  ValueId number(NumberOp op, std::vector<Operand> operands, ExitId exit = kCannotFail,
                 std::int64_t hint = 1);
  // The op by name, with the attributes that are named. The type of the result is that of its rule.
  ValueId step(std::string_view op, std::vector<Operand> operands,
               const std::vector<kiln::testing::NamedAttr>& attrs = {}, ExitId exit = kCannotFail,
               std::vector<SizeGuard> guards = {});
  // The form that writes its first operand.
  ValueId write(std::string_view op, std::vector<Operand> operands, ExitId exit = kCannotFail);

  ExitId exit(std::string reason, std::vector<Operand> values = {});

  std::shared_ptr<const FlowGraph> made() const { return std::make_shared<const FlowGraph>(flow); }
};

inline Operand of(ValueId id) { return Operand::of(id); }
inline Operand of_int(std::int64_t value) { return Operand::of_number(Dim(value)); }
inline Operand of_size(std::string_view symbol) { return Operand::of_number(Dim::symbol(symbol)); }
inline Dim dim_of(ValueId number) { return Dim::symbol(symbol_of(number)); }

FlowValue int_value(std::int64_t value);
FlowValue float_value(double value);
FlowValue tensor_value(const Tensor& x);

// `total = 0; for i in range(n) { total = total + i * i }`, of ints. Exit 0 is the end, exit 1 an overflow
// and exit 2 an interruption, each with the total and i.
FlowBuilder sum_of_squares();
// `while i < s0 { x[i] = x[i - 1] + y[i] }` from the input i on. Exit 0 is the end, 1 an index out of range,
// 2 an interruption, each with i.
FlowBuilder running_sum();

}  // namespace kiln::jit::testing
