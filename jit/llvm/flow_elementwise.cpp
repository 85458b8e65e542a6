// Elementwise steps of flows, copies and fills as loops over vectors of elements.
#include <algorithm>

#include "jit/llvm/flow_rows.h"
#include "jit/llvm/flow_space.h"
#include "jit/llvm/kernel_code.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_steps.h"
#include "tensor/compute.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

using Elements = VectorSteps::Elements;

// An operand of which elements are read along a line. What is the same for all of them is made ready before
// the loop: `same`, which otherwise has no value.
struct Read {
  FlowLine line;
  Elements same{nullptr, DType::F32};
};

// `compute`: the type of the arithmetic that reads it; null: as memory has it.
Read read_of(FlowEmitter& emit, VectorSteps& steps, FlowLine line, const Compute* compute) {
  if (line.element == nullptr) line = line_of(emit, line.dtype, line.first, line.stride);
  if (line.element == nullptr) return {line, {nullptr, line.dtype}};
  const Elements same{emit.build().CreateVectorSplat(kVector, line.element), line.dtype};
  if (compute == nullptr) return {line, same};
  return {line, {steps.in(same, *compute), dtype_of(*compute)}};
}

Elements elements_of(FlowEmitter& emit, const Read& read, llvm::Value* index, llvm::Value* rest) {
  if (read.same.value != nullptr) return read.same;
  return {load_elements(emit, read.line, index, rest), read.line.dtype};
}

// The result and operands, in this order.
FlowSpace space_of(const FlowRow& row, std::span<const FlowTensor> operands) {
  FlowSpace space(row.emit, row.result.sizes);
  space.add(row.result);
  for (const FlowTensor& each : operands) space.add(each);
  space.simplify();
  return space;
}

}  // namespace

void emit_elementwise(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  const Instruction& application = row.plan.application;
  const Pointwise& function = *application.op->pointwise;
  const DType made = function.rule == TypeRule::Predicate ? DType::Bool : application.dtype;
  VectorSteps steps(emit.bodies(), emit.build(), emit.vectors());
  space_of(row, row.operands).each_line([&](llvm::Value* count, const std::vector<FlowLine>& lines) {
    std::vector<Read> reads;
    for (std::size_t k = 1; k < lines.size(); ++k) {
      const bool is_mask = static_cast<int>(k) - 1 == function.mask;
      reads.push_back(read_of(emit, steps, lines[k], is_mask ? nullptr : &application.compute));
    }
    each_vector(emit, count, [&](llvm::Value* index, llvm::Value* rest) {
      std::vector<Elements> elements;
      for (const Read& each : reads) elements.push_back(elements_of(emit, each, index, rest));
      const auto kernel = static_cast<std::size_t>(application.index);
      const BodyCalls::Result result = steps.apply(application, kernel, elements);
      if (application.failure >= 0)
        emit.leave_if(emit.build().CreateICmpNE(result.bad, emit.build().getInt32(0)), row.step.exit);
      store_elements(emit, lines[0], index, rest, steps.converted({result.value, made}, row.result.dtype));
    });
  });
}

namespace {

void copy_from(const FlowRow& row, const FlowTensor& from) {
  FlowEmitter& emit = row.emit;
  VectorSteps steps(emit.bodies(), emit.build(), emit.vectors());
  space_of(row, {&from, 1}).each_line([&](llvm::Value* count, const std::vector<FlowLine>& lines) {
    const Read read = read_of(emit, steps, lines[1], nullptr);
    each_vector(emit, count, [&](llvm::Value* index, llvm::Value* rest) {
      const Elements elements = elements_of(emit, read, index, rest);
      store_elements(emit, lines[0], index, rest, steps.converted(elements, row.result.dtype));
    });
  });
}

// From the last element on along these dimensions.
FlowTensor backwards(FlowEmitter& emit, FlowTensor x, const std::vector<bool>& dims) {
  llvm::IRBuilder<>& build = emit.build();
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    if (!dims[dim]) continue;
    llvm::Value* const last = build.CreateSub(x.sizes[dim], emit.int_value(1));
    x.offset = build.CreateAdd(x.offset, build.CreateMul(last, x.strides[dim]));
    x.strides[dim] = build.CreateNeg(x.strides[dim]);
  }
  return x;
}

}  // namespace

void emit_copy(const FlowRow& row) {
  copy_from(row, backwards(row.emit, row.operands.back(), row.plan.dims));
}

void emit_fill(const FlowRow& row) {
  if (!row.plan.filled) return copy_from(row, row.operands[0]);
  FlowTensor number;
  number.dtype = DType::I64;
  number.element = row.emit.int_value(*row.plan.filled);
  copy_from(row, number);
}

}  // namespace kiln::jit
