#include "jit/llvm/combine.h"

namespace kiln::jit {
namespace {

// Does `a` win over `b`, both of them numbers?
llvm::Value* wins(llvm::IRBuilderBase& build, bool max, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->isIntOrIntVectorTy()) return max ? build.CreateICmpSGT(a, b) : build.CreateICmpSLT(a, b);
  return max ? build.CreateFCmpOGT(a, b) : build.CreateFCmpOLT(a, b);
}

// Numbers take one instruction. What is none is looked for apart, so that the next elements wait for that
// instruction alone.
llvm::Value* float_extremum(llvm::IRBuilderBase& build, bool max, llvm::Value* a, llvm::Value* b) {
  llvm::Function* const function = build.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(build.getContext(), name, function);
  };
  llvm::BasicBlock* const numbers = block("numbers");
  llvm::BasicBlock* const others = block("others");
  llvm::BasicBlock* const both = block("both");
  build.CreateCondBr(build.CreateOrReduce(build.CreateFCmpUNO(a, b)), others, numbers);
  build.SetInsertPoint(numbers);
  llvm::Value* const of_numbers = build.CreateSelect(wins(build, max, a, b), a, b);
  build.CreateBr(both);
  build.SetInsertPoint(others);
  llvm::Value* const stays = build.CreateOr(wins(build, max, a, b), build.CreateFCmpUNO(a, a));
  llvm::Value* const of_others = build.CreateSelect(stays, a, b);
  build.CreateBr(both);
  build.SetInsertPoint(both);
  return joined(build, of_numbers, numbers, of_others, others);
}

}  // namespace

llvm::Value* combined(llvm::IRBuilderBase& build, const Reduction& reduction, llvm::Value* a,
                      llvm::Value* b) {
  const bool floating = reduction.accumulator != DType::I64;
  switch (reduction.combine) {
    case cpu::Combine::Sum:
      return floating ? build.CreateFAdd(a, b) : build.CreateAdd(a, b);
    case cpu::Combine::Prod:
      return floating ? build.CreateFMul(a, b) : build.CreateMul(a, b);
    case cpu::Combine::Max:
    case cpu::Combine::Min:
      break;
  }
  const bool max = reduction.combine == cpu::Combine::Max;
  return floating ? float_extremum(build, max, a, b) : build.CreateSelect(wins(build, max, a, b), a, b);
}

llvm::Value* joined(llvm::IRBuilderBase& build, llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                    llvm::BasicBlock* from_b) {
  auto* const phi = build.CreatePHI(a->getType(), 2);
  phi->addIncoming(a, from_a);
  phi->addIncoming(b, from_b);
  return phi;
}

}  // namespace kiln::jit
