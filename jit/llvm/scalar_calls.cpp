#include "jit/llvm/scalar_calls.h"

#include <llvm/Transforms/Utils/Cloning.h>

#include <stdexcept>
#include <vector>

#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_types.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

// Longer functions are called as the eager kernels have them, which are compiled once for all programs.
constexpr unsigned kMostInstructions = 300;

bool is_long(const llvm::Function& body) {
  if (body.getInstructionCount() > kMostInstructions) return true;
  for (const llvm::BasicBlock& block : body) {
    for (const llvm::Instruction& each : block) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
      if (call != nullptr &&
          (call->getCalledFunction() == nullptr || !call->getCalledFunction()->isIntrinsic()))
        return true;
    }
  }
  return false;
}

}  // namespace

ScalarCalls::Result ScalarCalls::apply(const Instruction& application,
                                       std::span<llvm::Value* const> operands) {
  const std::string name =
      "one_" + row_name(application.op->pointwise->row) + "_" + name_of(application.compute);
  const bool predicate = application.op->pointwise->rule == TypeRule::Predicate;
  llvm::Type* const type =
      scalar_type(build_.getContext(), predicate ? DType::Bool : dtype_of(application.compute));
  llvm::Value* const params = parameters(bodies_.module(), application.params);
  llvm::Value* const out = slot(type);
  llvm::Function& body = bodies_.function(name);
  if (is_long(body)) return called(application, operands, type, out, params);
  std::vector<llvm::Value*> arguments;
  for (llvm::Value* const each : operands) arguments.push_back(spilled(each));
  llvm::Value* const bad = slot(build_.getInt32Ty());
  build_.CreateStore(build_.getInt32(0), bad);
  arguments.insert(arguments.end(), {out, params, bad});
  put(body, arguments);
  return {build_.CreateLoad(type, out), build_.CreateLoad(build_.getInt32Ty(), bad)};
}

// BlockKernel: unsigned (const void* const* in, void* out, std::int64_t n, const Params& params).
ScalarCalls::Result ScalarCalls::called(const Instruction& application,
                                        std::span<llvm::Value* const> operands, llvm::Type* type,
                                        llvm::Value* out, llvm::Value* params) {
  auto* const pointer = llvm::PointerType::get(build_.getContext(), 0);
  llvm::Value* const in = slot(llvm::ArrayType::get(pointer, operands.size()));
  for (std::size_t k = 0; k < operands.size(); ++k)
    build_.CreateStore(spilled(operands[k]), build_.CreateConstGEP1_64(pointer, in, k));
  auto* const kernel_type =
      llvm::FunctionType::get(build_.getInt32Ty(), {pointer, pointer, build_.getInt64Ty(), pointer}, false);
  llvm::Value* const kernel = build_.CreateLoad(
      pointer, build_.CreateConstGEP1_64(pointer, kernels_, static_cast<std::uint64_t>(application.index)));
  llvm::Value* const bad = build_.CreateCall(kernel_type, kernel, {in, out, build_.getInt64(1), params});
  return {build_.CreateLoad(type, out), bad};
}

llvm::Value* ScalarCalls::widened(llvm::Value* element, DType dtype, Compute compute) {
  if (dtype == dtype_of(compute)) return element;
  return converted("one_load_" + name_of(dtype) + "_" + name_of(compute), element,
                   scalar_type(build_.getContext(), dtype_of(compute)));
}

llvm::Value* ScalarCalls::narrowed(llvm::Value* value, Compute compute, DType dtype) {
  if (dtype == dtype_of(compute)) return value;
  return converted("one_store_" + name_of(compute) + "_" + name_of(dtype), value,
                   scalar_type(build_.getContext(), dtype));
}

llvm::Value* ScalarCalls::converted(const std::string& name, llvm::Value* value, llvm::Type* result) {
  llvm::Value* const out = slot(result);
  put(bodies_.function(name), std::vector<llvm::Value*>{spilled(value), out});
  return build_.CreateLoad(result, out);
}

// The code of the function may have branches: what follows goes on behind them.
void ScalarCalls::put(llvm::Function& body, std::span<llvm::Value* const> arguments) {
  llvm::CallInst* const made =
      build_.CreateCall(&body, llvm::ArrayRef<llvm::Value*>(arguments.data(), arguments.size()));
  llvm::Instruction* const behind = build_.CreateUnreachable();
  llvm::InlineFunctionInfo info;
  const auto inlined = llvm::InlineFunction(*made, info);
  if (!inlined.isSuccess()) throw std::runtime_error(inlined.getFailureReason());
  build_.SetInsertPoint(behind->getParent());
  behind->eraseFromParent();
}

llvm::Value* ScalarCalls::slot(llvm::Type* type) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  return at_entry.CreateAlloca(type);
}

llvm::Value* ScalarCalls::spilled(llvm::Value* value) {
  llvm::Value* const place = slot(value->getType());
  build_.CreateStore(value, place);
  return place;
}

}  // namespace kiln::jit
