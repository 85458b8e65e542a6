#include "jit/llvm/vector_steps.h"

#include <vector>

#include "jit/llvm/half_vectors.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_types.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

// The outcome of a comparison as a float is a choice: it need not become an integer first.
bool chooses(DType dtype) { return dtype == DType::F32 || dtype == DType::F64; }

}  // namespace

llvm::Value* VectorSteps::in(Elements from, Compute compute) {
  const DType dtype = dtype_of(compute);
  if (from.dtype == dtype) return from.value;
  if (from.dtype == DType::Bool && chooses(dtype)) return one_or_zero(from.value, dtype);
  if (from.dtype == DType::F16 && compute == Compute::F32 && bodies_.halves() == HalfVectors::Of16)
    return widened(build_, from.value);
  return calls_.convert("load_" + name_of(from.dtype) + "_" + name_of(compute), from.value, dtype);
}

llvm::Value* VectorSteps::stored(llvm::Value* value, Compute compute, DType dtype) {
  if (dtype == dtype_of(compute)) return value;
  if (dtype == DType::F16 && compute == Compute::F32 && bodies_.halves() != HalfVectors::None)
    return narrowed(build_, bodies_.halves(), value);
  return calls_.convert("store_" + name_of(compute) + "_" + name_of(dtype), value, dtype);
}

llvm::Value* VectorSteps::converted(Elements from, DType dtype) {
  if (from.dtype == DType::Bool && chooses(dtype)) return one_or_zero(from.value, dtype);
  const Compute compute = compute_of(from.dtype);
  return stored(in(from, compute), compute, dtype);
}

BodyCalls::Result VectorSteps::apply(const Instruction& step, std::size_t index,
                                     std::span<const Elements> operands) {
  const Pointwise& row = *step.op->pointwise;
  const bool predicate = row.rule == TypeRule::Predicate;
  std::vector<llvm::Value*> values;
  for (std::size_t k = 0; k < operands.size(); ++k)
    values.push_back(static_cast<int>(k) == row.mask ? operands[k].value : in(operands[k], step.compute));
  BodyCalls::Result result =
      calls_.apply(step, index, values, predicate ? DType::Bool : dtype_of(step.compute));
  if (!predicate) result.value = stored(result.value, step.compute, step.dtype);
  return result;
}

llvm::Value* VectorSteps::one_or_zero(llvm::Value* flags, DType dtype) {
  llvm::Type* const type = vector_type(build_.getContext(), dtype);
  return build_.CreateSelect(build_.CreateIsNotNull(flags), llvm::ConstantFP::get(type, 1.0),
                             llvm::ConstantFP::get(type, 0.0));
}

}  // namespace kiln::jit
