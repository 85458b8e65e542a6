// Owns the scalar functions that kernels are made of, as LLVM reads them from the bitcode.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace kiln::jit {

// The bitcode of bodies.cpp, read function by function as they are needed.
class Bodies {
 public:
  // Kernels are made in `module`, which is that of the bodies.
  explicit Bodies(llvm::Module& module) : module_(module) {}

  llvm::Module& module() { return module_; }
  // Null when it is not worth having in a kernel: loops, calls, divisions of integers, which no vector
  // instruction does.
  llvm::Function* straight_line(const std::string& name);
  llvm::Function& function(const std::string& name);

 private:
  llvm::Module& module_;
};

}  // namespace kiln::jit
