// Owns how the scalar functions in bitcode get into a kernel: operands and results go through slots of the
// stack, which are gone when the module is optimized (emit.h).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>

#include "jit/llvm/bitcode.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

// `Params` as a constant, so that what depends on it folds.
llvm::Value* parameters(llvm::Module& module, const Params& params);

class BodyCalls {
 public:
  // `build` stands where code is made; it is in other blocks after an application that branches.
  BodyCalls(Bodies& bodies, llvm::IRBuilder<>& build) : bodies_(bodies), build_(build) {}
  // Slots are made at the top of `entry`. `called` are the eager kernels, by instruction.
  void begin(llvm::BasicBlock* entry, llvm::Value* called) {
    entry_ = entry;
    called_ = called;
  }

  struct Result {
    llvm::Value* value;
    llvm::Value* bad;  // not 0: an element that the function is not defined for
  };
  // The function of the row that `step`, instruction `index`, applies: its straight-line code; where an
  // element needs more than that, or there is none, the eager kernel on one vector.
  Result apply(const Instruction& step, std::size_t index, std::span<llvm::Value* const> operands,
               DType result);
  // A conversion.
  llvm::Value* convert(const std::string& name, llvm::Value* operand, DType result);

 private:
  using Operands = std::span<llvm::Value* const>;
  Result inlined(llvm::Function& body, Operands operands, DType result, llvm::Value* params);
  llvm::Value* guard(const std::string& name, Operands operands, llvm::Value* params);
  Result eager(std::size_t index, Operands operands, DType result, llvm::Value* params);
  llvm::Value* put_inline(llvm::Function& body, std::span<llvm::Value* const> arguments);
  llvm::Value* slot(llvm::Type* type);
  llvm::Value* spilled(llvm::Value* value);
  llvm::Type* vector_of(DType dtype);
  llvm::BasicBlock* block(const char* name);

  Bodies& bodies_;
  llvm::IRBuilder<>& build_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* called_ = nullptr;
};

}  // namespace kiln::jit
