// Owns the LLVM code of one loop nest.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>

#include "jit/llvm/bitcode.h"
#include "jit/loops/schedule.h"

namespace kiln::jit {

// Tells which line of a nest (print_loops.h: `line_text`) the code that is made now belongs to, for people.
class Annotation {
 public:
  virtual ~Annotation() = default;
  virtual void begin(llvm::Function& kernel) = 0;
  virtual void line(llvm::IRBuilderBase& build, std::size_t line) = 0;
};

// Appends `nest` as a function `symbol` of type KernelFn. `annotation` may be null.
llvm::Function* emit(Bodies& bodies, const ScheduledNest& scheduled, const std::string& symbol,
                     Annotation* annotation = nullptr);

}  // namespace kiln::jit
