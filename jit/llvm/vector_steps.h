// Owns the steps of a computation over vectors of kVector elements, as LLVM's instructions: conversions
// between elements as memory has them and as arithmetic reads them, and the functions of elementwise rows.
#pragma once

#include <span>

#include "jit/llvm/body_calls.h"

namespace kiln::jit {

class VectorSteps {
 public:
  // `build` stands where code is made, and `calls` make theirs there.
  VectorSteps(Bodies& bodies, llvm::IRBuilder<>& build, BodyCalls& calls)
      : bodies_(bodies), build_(build), calls_(calls) {}

  // A vector of elements in memory, with their dtype.
  struct Elements {
    llvm::Value* value;
    DType dtype;
  };
  // As arithmetic reads them.
  llvm::Value* in(Elements from, Compute compute);
  // What arithmetic gives, as it is in memory.
  llvm::Value* stored(llvm::Value* value, Compute compute, DType dtype);
  llvm::Value* converted(Elements from, DType dtype);
  // Instruction `index`, of kind Apply: elements as memory has them.
  BodyCalls::Result apply(const Instruction& step, std::size_t index, std::span<const Elements> operands);

 private:
  llvm::Value* one_or_zero(llvm::Value* flags, DType dtype);

  Bodies& bodies_;
  llvm::IRBuilder<>& build_;
  BodyCalls& calls_;
};

}  // namespace kiln::jit
