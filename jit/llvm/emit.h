// Owns the LLVM code of one loop nest.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "jit/loops.h"

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

// Tells which line of a nest (loops.h: `line_text`) the code that is made now belongs to, for people.
class Annotation {
 public:
  virtual ~Annotation() = default;
  virtual void begin(llvm::Function& kernel) = 0;
  virtual void line(llvm::IRBuilderBase& build, std::size_t line) = 0;
};

// Appends `nest` as a function `symbol` of type KernelFn. `annotation` may be null.
llvm::Function* emit(Bodies& bodies, const LoopNest& nest, const std::string& symbol,
                     Annotation* annotation = nullptr);

// What is left to do for straight-line code: values out of the slots that bodies were called with, constants
// folded, what is computed twice computed once. None of it changes how a float is rounded.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace kiln::jit
