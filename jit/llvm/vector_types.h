// Owns the LLVM types of vectors of a dtype, with elements as in memory.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include "tensor/dtype.h"

namespace kiln::jit {

llvm::Type* scalar_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* vector_type(llvm::LLVMContext& context, DType dtype);  // of kVector elements
std::uint64_t bytes_of(DType dtype);

}  // namespace kiln::jit
