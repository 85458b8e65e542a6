// Owns the scalar functions that kernels are made of, as LLVM reads them from the bitcode.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace kiln::jit {

// The bitcode of bodies.cpp, read function by function as they are needed.
class Bodies {
 public:
  // Kernels are made in `module`, which is that of the bodies, for a processor that has conversions between
  // f16 and f32, or not.
  Bodies(llvm::Module& module, bool converts_f16) : module_(module), converts_f16_(converts_f16) {}

  llvm::Module& module() { return module_; }
  bool converts_f16() const { return converts_f16_; }
  // Null when it is not worth having in a kernel: loops, calls, divisions of integers, which no vector
  // instruction does.
  llvm::Function* straight_line(const std::string& name);
  llvm::Function& function(const std::string& name);

 private:
  llvm::Module& module_;
  bool converts_f16_;
};

}  // namespace kiln::jit
