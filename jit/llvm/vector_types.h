// Owns what vectors of a dtype are to LLVM: elements as they lie in memory.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include "tensor/dtype.h"

namespace kiln::jit {

llvm::Type* scalar_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* vector_type(llvm::LLVMContext& context, DType dtype);  // of kVector elements
std::uint64_t bytes_of(DType dtype);

}  // namespace kiln::jit
