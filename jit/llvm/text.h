// Owns kernels as text for people: LLVM's language and assembly, with marks that say which line of its nest
// code belongs to (jit/passes/target.h).
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <string>
#include <vector>

#include "jit/llvm/emit.h"

namespace kiln::jit {

// Lines of nests as the lines of debug locations, which stay with instructions whatever is done to them.
class LineNotes final : public Annotation {
 public:
  explicit LineNotes(llvm::Module& module);
  ~LineNotes() override;

  void begin(llvm::Function& kernel) override;
  void line(llvm::IRBuilderBase& build, std::size_t line) override;

 private:
  struct Debug;
  std::unique_ptr<Debug> debug_;
};

// `kernels` in order, with the names of what their lines compute.
std::string llvm_text(llvm::Module& module, const std::vector<llvm::Function*>& kernels,
                      const std::vector<std::vector<std::string>>& names);
std::string assembly_text(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace kiln::jit
