// Owns up to which sizes steps of a flow are loops in its machine code.
#pragma once

#include "jit/llvm/flow_rows.h"

namespace kiln::jit {

// Elements, or multiply-adds, from which kernels share work among threads.
inline constexpr std::int64_t kMostRowElements = 1 << 15;

// `fits` of reductions, and of products.
llvm::Value* reduction_fits(const FlowRow& row);
llvm::Value* product_fits(const FlowRow& row);
// May elements be computed one by one: are there few, or few threads for kernels to share them, and has each
// operand one for each of the result?
llvm::Value* leaves_fit(const FlowRow& row);

}  // namespace kiln::jit
