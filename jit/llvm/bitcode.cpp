#include "jit/llvm/bitcode.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Support/Error.h>

#include <stdexcept>

namespace kiln::jit {

llvm::Function& Bodies::function(const std::string& name) {
  llvm::Function* const found = module_.getFunction(name);
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
