// Owns scalar functions of bitcode on one element: its code is put into the function that needs it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>

#include "jit/llvm/bitcode.h"
#include "jit/llvm/body_calls.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

class ScalarCalls {
 public:
  // `build` stands where code is made, and is in other blocks afterwards where a function has branches.
  ScalarCalls(Bodies& bodies, llvm::IRBuilder<>& build) : bodies_(bodies), build_(build) {}
  // Slots are made at the top of `entry`. `kernels` are the eager kernels, by the index of an application.
  void begin(llvm::BasicBlock* entry, llvm::Value* kernels) {
    entry_ = entry;
    kernels_ = kernels;
  }

  struct Result {
    llvm::Value* value;  // in the type of the arithmetic; of a predicate i8
    llvm::Value* bad;    // i32, not 0: the function is not defined for the element
  };
  // Operands are of the type of the arithmetic; a mask is i8.
  Result apply(const Instruction& application, std::span<llvm::Value* const> operands);
  // An element as memory holds it, in the type of the arithmetic, and back.
  llvm::Value* widened(llvm::Value* element, DType dtype, Compute compute);
  llvm::Value* narrowed(llvm::Value* value, Compute compute, DType dtype);

 private:
  Result called(const Instruction& application, std::span<llvm::Value* const> operands, llvm::Type* type,
                llvm::Value* out, llvm::Value* params);
  llvm::Value* slot(llvm::Type* type);
  llvm::Value* spilled(llvm::Value* value);
  llvm::Value* converted(const std::string& name, llvm::Value* value, llvm::Type* result);
  void put(llvm::Function& body, std::span<llvm::Value* const> arguments);

  Bodies& bodies_;
  llvm::IRBuilder<>& build_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* kernels_ = nullptr;
};

}  // namespace kiln::jit
