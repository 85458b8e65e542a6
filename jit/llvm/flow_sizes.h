// Owns sizes over symbols as code.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>

#include "tensor/size_expression.h"
#include "tensor/size_scope.h"

namespace kiln::jit {

class FlowSizes {
 public:
  using Symbol = std::function<llvm::Value*(const std::string& name)>;
  FlowSizes(llvm::IRBuilder<>& build, Symbol symbol) : build_(build), symbol_(std::move(symbol)) {}

  // Right where the size fits 64 bits; sums on its way may wrap.
  llvm::Value* size(Dim size) { return value(size, nullptr); }
  // An i1: does the guard hold? One that divides by 0 or leaves 64 bits does not.
  llvm::Value* holds(const SizeGuard& guard);

 private:
  llvm::Value* value(Dim size, llvm::Value** lost);
  llvm::Value* atom(const SizeAtom& atom, llvm::Value** lost);
  llvm::Value* divided(const SizeAtom& atom, llvm::Value* a, llvm::Value* b, llvm::Value** lost);
  llvm::Value* sum(llvm::Value* a, llvm::Value* b, llvm::Value** lost);
  llvm::Value* product(llvm::Value* a, llvm::Value* b, llvm::Value** lost);
  llvm::Value* checked(llvm::Intrinsic::ID op, llvm::Value* a, llvm::Value* b, llvm::Value** lost);

  llvm::IRBuilder<>& build_;
  Symbol symbol_;
};

}  // namespace kiln::jit
