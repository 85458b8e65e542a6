// Owns how elements along a line are combined in the machine code of flows: in the lanes of one block and
// then a tree (tensor/fixed_order.h, and tensor/product_order.h for products of vectors).
#pragma once

#include <functional>

#include "jit/llvm/flow_lines.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

// f(index, rest): what kVector elements from `index` on are, or the `rest` that are there, in the type of the
// accumulator. Gives one accumulator. `count` is at most what a block has.
llvm::Value* combine_line(FlowEmitter& emit, const Reduction& reduction, llvm::Value* count,
                          const std::function<llvm::Value*(llvm::Value* index, llvm::Value* rest)>& f);

// The type that elements are combined in, by reductions and in products: integers wrap, to the same bits in
// any width.
Compute combining_compute(DType dtype);
// The sum of products of two lines, in that type.
llvm::Value* dot_lines(FlowEmitter& emit, llvm::Value* count, const FlowLine& a, const FlowLine& b);
// a b, and a + b.
llvm::Value* product(llvm::IRBuilderBase& build, llvm::Value* a, llvm::Value* b);
llvm::Value* sum(llvm::IRBuilderBase& build, llvm::Value* a, llvm::Value* b);

}  // namespace kiln::jit
