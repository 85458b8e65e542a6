// Owns what is left to do for straight-line code: values out of the slots that bodies were called with,
// constants folded, what is computed twice computed once. None of it changes how a float is rounded.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

namespace kiln::jit {

class Optimizer {
 public:
  explicit Optimizer(llvm::TargetMachine& machine);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void run(llvm::Module& module);

 private:
  struct Passes;
  std::unique_ptr<Passes> passes_;
};

}  // namespace kiln::jit
