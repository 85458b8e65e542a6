#include "jit/llvm/vector_types.h"

#include "jit/llvm/kernel_code.h"

namespace kiln::jit {

llvm::Type* scalar_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::F32) return llvm::Type::getFloatTy(context);
  if (dtype == DType::F64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(bytes_of(dtype) * 8));
}

llvm::Type* vector_type(llvm::LLVMContext& context, DType dtype) {
  return llvm::FixedVectorType::get(scalar_type(context, dtype), kVector);
}

std::uint64_t bytes_of(DType dtype) {
  return visit_dtype(dtype, []<class T>() { return sizeof(T); });
}

}  // namespace kiln::jit
