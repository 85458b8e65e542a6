// Owns what compiles that follow each other share: LLVM's context, the machine that code is made for, the
// scalar functions in bitcode, the passes. To set them up takes as long as a small kernel.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "jit/llvm/half_vectors.h"
#include "jit/llvm/optimize.h"

namespace kiln::jit {

class Session {
 public:
  // `names_values`: for text. Throws std::runtime_error with what LLVM says.
  Session(const std::string& processor, bool names_values);

  llvm::LLVMContext& context() { return *context_; }
  llvm::TargetMachine& machine() { return *machine_; }
  // Functions are read one by one as they are needed (jit/llvm/bitcode.h).
  llvm::Module& bodies() { return *bodies_; }
  HalfVectors halves() const { return halves_; }
  Optimizer& optimizer() { return *optimizer_; }
  // An empty one for kernels, for this machine.
  std::unique_ptr<llvm::Module> module();

 private:
  friend std::unique_ptr<Session> borrow_session(const std::string& processor);
  friend void give_back(std::unique_ptr<Session> session);
  std::string processor_;
  int uses_ = 0;
  std::unique_ptr<llvm::LLVMContext> context_ = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::Module> bodies_;
  HalfVectors halves_{};
  std::unique_ptr<Optimizer> optimizer_;
};

// A session for the caller's use until it is given back. After an error it is not given back, since it may be
// in the middle of a compile.
std::unique_ptr<Session> borrow_session(const std::string& processor);
void give_back(std::unique_ptr<Session> session);

}  // namespace kiln::jit
