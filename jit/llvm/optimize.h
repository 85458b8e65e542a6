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
  // For code with loops and branches of a program's own: what is the same in each iteration is computed
  // before the loop, and what is known on a way is not asked again.
  void run_over_loops(llvm::Module& module);

 private:
  struct Passes;
  template <class Manager>
  void run(llvm::Module& module, Manager& passes);
  std::unique_ptr<Passes> passes_;
};

}  // namespace kiln::jit
