// Owns the ops of a program's numbers as code, with the meaning that NumberOp gives them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <span>

#include "jit/flow/flow_graph.h"

namespace kiln::jit {

class FlowNumbers {
 public:
  struct Ways {
    // Leaves where the condition holds.
    std::function<void(llvm::Value* condition)> leave_if;
    // What the program computes of one or two operands of one kind; leaves where it gives nothing.
    std::function<llvm::Value*(NumberOp op, llvm::Value* a, llvm::Value* b)> compute;
  };
  FlowNumbers(llvm::IRBuilder<>& build, Ways ways) : build_(build), ways_(std::move(ways)) {}

  // i64, double or i1, as the operands. Neither Item nor Call.
  llvm::Value* apply(NumberOp op, std::span<llvm::Value* const> operands);

 private:
  using Value = llvm::Value;
  Value* of_ints(NumberOp op, Value* a, Value* b);
  Value* of_floats(NumberOp op, Value* a, Value* b);
  Value* of_bools(NumberOp op, Value* a, Value* b);
  Value* less(Value* a, Value* b);
  Value* at_most(Value* a, Value* b);
  Value* equal(Value* a, Value* b);
  Value* checked(llvm::Intrinsic::ID op, Value* a, Value* b);
  Value* quotient(Value* a, Value* b);
  Value* floor_quotient(Value* a, Value* b);
  Value* floor_rest(Value* a, Value* b);
  Value* shifted_left(Value* a, Value* b);
  Value* shifted_right(Value* a, Value* b);
  Value* place(Value* index, Value* size);
  Value* slice_bound(Value* index, Value* size);
  Value* toward_zero(Value* a);
  Value* goes_down(Value* rest, Value* divisor);
  Value* integer(std::int64_t value) { return build_.getInt64(static_cast<std::uint64_t>(value)); }

  llvm::IRBuilder<>& build_;
  Ways ways_;
};

}  // namespace kiln::jit
