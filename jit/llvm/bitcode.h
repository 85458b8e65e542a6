// Owns the scalar functions that kernels are made of, as LLVM reads them from the bitcode.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "jit/llvm/half_vectors.h"

namespace kiln::jit {

// The bitcode of bodies.cpp, read function by function as they are needed.
class Bodies {
 public:
  // Kernels are made in `module`, for a processor that has these conversions. The functions stay in `source`,
  // which may serve other modules of its context later.
  Bodies(llvm::Module& source, llvm::Module& module, HalfVectors halves)
      : source_(source), module_(module), halves_(halves) {}

  llvm::Module& module() { return module_; }
  HalfVectors halves() const { return halves_; }
  // Null when it is not worth having in a kernel: loops, calls, divisions of integers, which no vector
  // instruction does.
  llvm::Function* straight_line(const std::string& name);
  llvm::Function& function(const std::string& name);
  // Puts what the code of functions refers to into the module of the kernels, which has that code by now.
  void adopt(llvm::Function& kernel);

 private:
  llvm::Module& source_;
  llvm::Module& module_;
  HalfVectors halves_;
};

}  // namespace kiln::jit
