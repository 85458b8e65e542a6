// Owns how a reduction takes the next elements, and how control flow meets again, as LLVM's instructions.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/loops/loops.h"

namespace kiln::jit {

// What `a` becomes when it takes `b`, element by element: as SumOf, ProdOf, MaxOf and MinOf of the eager
// kernels (tensor/cpu/isa/lanes.h). May end in another block than it began in.
llvm::Value* combined(llvm::IRBuilderBase& build, const Reduction& reduction, llvm::Value* a, llvm::Value* b);

// At the top of a block that is reached from two others.
llvm::Value* joined(llvm::IRBuilderBase& build, llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                    llvm::BasicBlock* from_b);

}  // namespace kiln::jit
