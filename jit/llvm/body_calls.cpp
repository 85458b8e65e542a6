#include "jit/llvm/body_calls.h"

#include <llvm/Transforms/Utils/Cloning.h>

#include <stdexcept>
#include <vector>

#include "jit/llvm/combine.h"
#include "jit/llvm/kernel_code.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_types.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {

llvm::Value* parameters(llvm::Module& module, const Params& params) {
  llvm::LLVMContext& context = module.getContext();
  const auto number = [&](unsigned bits, std::uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getIntNTy(context, bits), value);
  };
  std::vector<llvm::Constant*> fields;
  for (const double each : params.v) fields.push_back(llvm::ConstantFP::get(context, llvm::APFloat(each)));
  for (const long long each : params.n) fields.push_back(number(64, static_cast<std::uint64_t>(each)));
  fields.push_back(llvm::ConstantFP::get(context, llvm::APFloat(params.largest)));
  fields.push_back(number(32, static_cast<std::uint32_t>(params.bits)));
  fields.push_back(number(32, params.integers));
  llvm::Constant* const value = llvm::ConstantStruct::getAnon(fields);
  auto* const global = new llvm::GlobalVariable(module, value->getType(), true,
                                                llvm::GlobalValue::PrivateLinkage, value, "params");
  global->setAlignment(llvm::Align(8));
  return global;
}

BodyCalls::Result BodyCalls::apply(const Instruction& step, std::size_t index, Operands operands,
                                   DType result) {
  const int row = step.op->pointwise->row;
  const std::string name = row_name(row) + "_" + name_of(step.compute);
  llvm::Function* const body = bodies_.straight_line("apply_" + name);
  llvm::Value* const params = parameters(bodies_.module(), step.params);
  if (body == nullptr) return eager(index, operands, result, params);
  if (!has_range(row)) return inlined(*body, operands, result, params);
  llvm::Value* const outside = guard("guard_" + name, operands, params);
  llvm::BasicBlock* const fast = block("fast");
  llvm::BasicBlock* const slow = block("slow");
  llvm::BasicBlock* const both = block("both");
  build_.CreateCondBr(build_.CreateICmpEQ(outside, build_.getInt32(0)), fast, slow);
  build_.SetInsertPoint(fast);
  const Result quick = inlined(*body, operands, result, params);
  llvm::BasicBlock* const quick_end = build_.GetInsertBlock();
  build_.CreateBr(both);
  build_.SetInsertPoint(slow);
  const Result full = eager(index, operands, result, params);
  build_.CreateBr(both);
  build_.SetInsertPoint(both);
  return {joined(build_, quick.value, quick_end, full.value, slow),
          joined(build_, quick.bad, quick_end, full.bad, slow)};
}

llvm::Value* BodyCalls::convert(const std::string& name, llvm::Value* operand, DType result) {
  llvm::Value* const out = slot(vector_of(result));
  put_inline(bodies_.function(name), std::vector<llvm::Value*>{spilled(operand), out});
  return build_.CreateLoad(vector_of(result), out);
}

BodyCalls::Result BodyCalls::inlined(llvm::Function& body, Operands operands, DType result,
                                     llvm::Value* params) {
  std::vector<llvm::Value*> arguments;
  for (llvm::Value* const each : operands) arguments.push_back(spilled(each));
  llvm::Value* const out = slot(vector_of(result));
  llvm::Value* const bad = slot(build_.getInt32Ty());
  build_.CreateStore(build_.getInt32(0), bad);
  arguments.insert(arguments.end(), {out, params, bad});
  put_inline(body, arguments);
  return {build_.CreateLoad(vector_of(result), out), build_.CreateLoad(build_.getInt32Ty(), bad)};
}

llvm::Value* BodyCalls::guard(const std::string& name, Operands operands, llvm::Value* params) {
  std::vector<llvm::Value*> arguments;
  for (llvm::Value* const each : operands) arguments.push_back(spilled(each));
  arguments.push_back(params);
  return put_inline(bodies_.function(name), arguments);
}

// BlockKernel: unsigned (const void* const* in, void* out, std::int64_t n, const Params& params).
BodyCalls::Result BodyCalls::eager(std::size_t index, Operands operands, DType result, llvm::Value* params) {
  auto* const pointer = llvm::PointerType::get(build_.getContext(), 0);
  llvm::Value* const in = slot(llvm::ArrayType::get(pointer, operands.size()));
  for (std::size_t k = 0; k < operands.size(); ++k)
    build_.CreateStore(spilled(operands[k]), build_.CreateConstGEP1_64(pointer, in, k));
  llvm::Value* const out = slot(vector_of(result));
  auto* const type =
      llvm::FunctionType::get(build_.getInt32Ty(), {pointer, pointer, build_.getInt64Ty(), pointer}, false);
  llvm::Value* const kernel = build_.CreateLoad(pointer, build_.CreateConstGEP1_64(pointer, called_, index));
  llvm::Value* const bad = build_.CreateCall(type, kernel, {in, out, build_.getInt64(kVector), params});
  return {build_.CreateLoad(vector_of(result), out), bad};
}

llvm::Value* BodyCalls::put_inline(llvm::Function& body, Operands arguments) {
  if (body.size() != 1) throw std::runtime_error(body.getName().str() + " is no straight-line code");
  llvm::CallInst* const made =
      build_.CreateCall(&body, llvm::ArrayRef<llvm::Value*>(arguments.data(), arguments.size()));
  // What it returns is read from a copy: inlining puts the value itself there.
  llvm::Value* result = made;
  if (!made->getType()->isVoidTy()) {
    llvm::Value* const kept = slot(made->getType());
    build_.CreateStore(made, kept);
    result = build_.CreateLoad(made->getType(), kept);
  }
  llvm::InlineFunctionInfo info;
  const auto inlined = llvm::InlineFunction(*made, info);
  if (!inlined.isSuccess()) throw std::runtime_error(inlined.getFailureReason());
  return result;
}

llvm::Value* BodyCalls::slot(llvm::Type* type) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  return at_entry.CreateAlloca(type);
}

llvm::Value* BodyCalls::spilled(llvm::Value* value) {
  llvm::Value* const place = slot(value->getType());
  build_.CreateStore(value, place);
  return place;
}

llvm::Type* BodyCalls::vector_of(DType dtype) { return vector_type(build_.getContext(), dtype); }

llvm::BasicBlock* BodyCalls::block(const char* name) {
  return llvm::BasicBlock::Create(build_.getContext(), name, build_.GetInsertBlock()->getParent());
}

}  // namespace kiln::jit
