// Elements of a vector at the places that a tensor of integers counts, in flows, one after the other.
#include "jit/llvm/flow_row_limits.h"
#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_space.h"
#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"

namespace kiln::jit {

// Leaves where there is no such place; the run's memory may have elements by then, which no exit shows.
void emit_pick(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  llvm::IRBuilder<>& build = emit.build();
  const FlowTensor &from = row.operands[0], &places = row.operands[1];
  llvm::Type* const type = emit.element_type(from.dtype);
  const llvm::Align align(bytes_of(from.dtype));
  llvm::Value* const first = emit.address(from);
  FlowSpace space(emit, row.result.sizes);
  space.add(row.result);
  space.add(places);
  space.simplify();
  space.each_place([&](const std::vector<llvm::Value*>& at) {
    llvm::Value* const counted =
        build.CreateAlignedLoad(emit.element_type(places.dtype), at[1], llvm::Align(bytes_of(places.dtype)));
    const Compute compute = compute_of(places.dtype);
    llvm::Value* const place =
        build.CreateSExt(emit.scalars().widened(counted, places.dtype, compute), build.getInt64Ty());
    llvm::Value* const is_negative = build.CreateICmpSLT(place, emit.int_value(0));
    llvm::Value* const index = build.CreateSelect(is_negative, build.CreateAdd(place, from.sizes[0]), place);
    emit.leave_if(build.CreateICmpUGE(index, from.sizes[0]), row.step.exit);
    llvm::Value* const element = build.CreateAlignedLoad(
        type, build.CreateGEP(type, first, build.CreateMul(index, from.strides[0])), align);
    build.CreateAlignedStore(element, at[0], align);
  });
}

}  // namespace kiln::jit
