#include "jit/llvm/flow_rows.h"

#include "jit/llvm/flow_row_limits.h"
#include "jit/llvm/vector_types.h"

namespace kiln::jit {
namespace {

// The bytes that a tensor shows, from the first to behind the last one, as numbers.
struct Extent {
  llvm::Value *first, *last;
};
Extent extent_of(FlowEmitter& emit, const FlowTensor& x) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const first = build.CreatePtrToInt(emit.address(x), build.getInt64Ty());
  llvm::Value* elements = emit.int_value(1);
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    llvm::Value* const steps = build.CreateSub(x.sizes[dim], emit.int_value(1));
    elements = build.CreateAdd(elements, build.CreateMul(steps, x.strides[dim]));
  }
  llvm::Value* const bytes =
      build.CreateMul(elements, emit.int_value(static_cast<std::int64_t>(bytes_of(x.dtype))));
  return {first, build.CreateAdd(first, bytes)};
}

bool shows_same(const FlowTensor& a, const FlowTensor& b) {
  return a.dtype == b.dtype && a.base == b.base && a.offset == b.offset && a.sizes == b.sizes &&
         a.strides == b.strides;
}

// May `target` be written vector by vector, each after the same elements of `x` are read? Either each element
// is in the same place, or none is in the memory of the other.
llvm::Value* is_in_order(FlowEmitter& emit, const FlowTensor& target, const FlowTensor& x) {
  llvm::IRBuilder<>& build = emit.build();
  if (x.element != nullptr || shows_same(target, x)) return build.getTrue();
  const Extent written = extent_of(emit, target), read = extent_of(emit, x);
  llvm::Value* const is_apart = build.CreateOr(build.CreateICmpULE(written.last, read.first),
                                               build.CreateICmpULE(read.last, written.first));
  if (x.rank() != target.rank() || x.dtype != target.dtype) return is_apart;
  llvm::Value* is_same = build.CreateICmpEQ(written.first, read.first);
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    is_same = build.CreateAnd(is_same, build.CreateICmpEQ(x.strides[dim], target.strides[dim]));
    is_same = build.CreateAnd(is_same, build.CreateICmpEQ(x.sizes[dim], target.sizes[dim]));
  }
  return build.CreateOr(is_apart, is_same);
}

// Has each dimension of an operand the size of the result's, where it is not known to be 1?
llvm::Value* fills(FlowEmitter& emit, const FlowTensor& x, const std::vector<llvm::Value*>& sizes) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* holds = build.getTrue();
  const std::size_t absent = sizes.size() - x.rank();
  for (std::size_t dim = 0; dim < x.rank(); ++dim) {
    llvm::Value* const size = x.sizes[dim];
    llvm::Value* const wanted = sizes[absent + dim];
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(size);
    if (size == wanted || (number != nullptr && number->isOne())) continue;
    holds = build.CreateAnd(holds, build.CreateICmpEQ(size, wanted));
  }
  return holds;
}

std::vector<llvm::Value*> result_sizes(const FlowRow& row) {
  std::vector<llvm::Value*> sizes;
  for (const Dim each : row.emit.flow().type(row.step.node.outputs[0]).sizes)
    sizes.push_back(row.emit.size(each));
  return sizes;
}

// Of steps that compute each element by itself.
llvm::Value* elements_fit(const FlowRow& row, std::span<const FlowTensor> operands) {
  FlowEmitter& emit = row.emit;
  llvm::IRBuilder<>& build = emit.build();
  if (row.step.node.writes() && row.plan.application.failure >= 0) return nullptr;
  const std::vector<llvm::Value*> sizes = result_sizes(row);
  llvm::Value* count = emit.int_value(1);
  for (llvm::Value* const each : sizes) count = build.CreateMul(count, each);
  llvm::Value* holds = build.CreateICmpSLE(count, emit.int_value(kMostRowElements));
  for (const FlowTensor& each : operands) {
    if (each.element != nullptr) continue;
    holds = build.CreateAnd(holds, fills(emit, each, sizes));
    if (row.step.node.writes()) holds = build.CreateAnd(holds, is_in_order(emit, row.result, each));
  }
  return holds;
}

}  // namespace

llvm::Value* fits(const FlowRow& row) {
  switch (row.plan.kind) {
    case FlowStepPlan::Kind::Pointwise:
      return elements_fit(row, row.operands);
    case FlowStepPlan::Kind::Copy:
      return elements_fit(row, {&row.operands.back(), 1});
    case FlowStepPlan::Kind::Fill:
      if (row.plan.filled) return elements_fit(row, {});
      return elements_fit(row, {row.operands.data(), 1});
    case FlowStepPlan::Kind::Reduce:
      return reduction_fits(row);
    case FlowStepPlan::Kind::Product:
      return product_fits(row);
    default:
      return nullptr;
  }
}

}  // namespace kiln::jit
