#include "jit/llvm/bitcode.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Support/Error.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <stdexcept>
#include <utility>

namespace kiln::jit {
namespace {

// The same in another module: declarations of what the processor does, and constants.
class Adopted final : public llvm::ValueMaterializer {
 public:
  explicit Adopted(llvm::Module& module) : module_(module) {}

  llvm::Value* materialize(llvm::Value* value) override {
    auto* const global = llvm::dyn_cast<llvm::GlobalValue>(value);
    if (global == nullptr || global->getParent() == &module_) return nullptr;
    if (auto* const function = llvm::dyn_cast<llvm::Function>(global)) return declared(*function);
    auto* const constant = llvm::cast<llvm::GlobalVariable>(global);
    auto* const copy =
        new llvm::GlobalVariable(module_, constant->getValueType(), constant->isConstant(),
                                 llvm::GlobalValue::PrivateLinkage, constant->getInitializer());
    copy->copyAttributesFrom(constant);
    return copy;
  }

 private:
  llvm::Value* declared(const llvm::Function& function) {
    if (!function.isIntrinsic())
      throw std::runtime_error("a body calls " + function.getName().str() + ", which kernels do not have");
    return module_.getOrInsertFunction(function.getName(), function.getFunctionType()).getCallee();
  }

  llvm::Module& module_;
};

}  // namespace

void Bodies::adopt(llvm::Function& kernel) {
  Adopted adopted(module_);
  llvm::ValueToValueMapTy known;
  for (llvm::Instruction& each : llvm::instructions(kernel)) {
    llvm::RemapInstruction(&each, known, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals,
                           nullptr, &adopted);
  }
}

llvm::Function& Bodies::function(const std::string& name) {
  llvm::Function* const found = source_.getFunction(name);
  if (found == nullptr) throw std::runtime_error("there is no body " + name);
  if (!found->isMaterializable()) return *found;
  if (llvm::Error error = found->materialize()) throw std::runtime_error(llvm::toString(std::move(error)));
  found->setLinkage(llvm::Function::InternalLinkage);
  found->setAttributes({});
  for (llvm::Instruction& each : llvm::instructions(*found)) each.dropUnknownNonDebugMetadata();
  return *found;
}

llvm::Function* Bodies::straight_line(const std::string& name) {
  llvm::Function& found = function(name);
  if (found.size() != 1) return nullptr;
  for (const llvm::Instruction& each : found.front()) {
    const auto* const call = llvm::dyn_cast<llvm::CallBase>(&each);
    if (call != nullptr &&
        (call->getCalledFunction() == nullptr || !call->getCalledFunction()->isIntrinsic()))
      return nullptr;
    const unsigned code = each.getOpcode();
    if (code == llvm::Instruction::SDiv || code == llvm::Instruction::SRem ||
        code == llvm::Instruction::UDiv || code == llvm::Instruction::URem)
      return nullptr;
  }
  return &found;
}

}  // namespace kiln::jit
