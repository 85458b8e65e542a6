// Reductions in flows as loops in the documented order.
#include <optional>

#include "jit/llvm/flow_expression.h"
#include "jit/llvm/flow_lanes.h"
#include "jit/llvm/flow_row_limits.h"
#include "jit/llvm/flow_rows.h"
#include "jit/llvm/scalar_names.h"
#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"

namespace kiln::jit {
namespace {

// What goes into one element of the result, as one line; and the dimensions around it.
struct Sequences {
  llvm::Value* count;
  llvm::Value* stride;
  FlowTensor outer;  // the first elements of all sequences
};

// Nothing where a sequence is no line.
std::optional<Sequences> sequences_of(FlowEmitter& emit, const FlowTensor& x, const std::vector<bool>& dims) {
  Sequences made{emit.int_value(1), emit.int_value(1), x};
  made.outer.sizes.clear();
  made.outer.strides.clear();
  bool is_line = false;
  for (std::size_t dim = x.rank(); dim-- > 0;) {
    if (!dims[dim]) {
      made.outer.sizes.insert(made.outer.sizes.begin(), x.sizes[dim]);
      made.outer.strides.insert(made.outer.strides.begin(), x.strides[dim]);
    } else if (!is_line) {
      made.count = x.sizes[dim];
      made.stride = x.strides[dim];
      is_line = true;
    } else if (!FlowLine::is_number(x.sizes[dim], 1)) {
      if (!goes_on(emit, x.strides[dim], made.count, made.stride)) return std::nullopt;
      made.count = emit.size_product(x.sizes[dim], made.count);
    }
  }
  return made;
}

// The result without dimensions that were reduced and kept.
FlowTensor outer_of(const FlowTensor& result, const std::vector<bool>& dims) {
  if (result.rank() != dims.size()) return result;
  FlowTensor outer = result;
  outer.sizes.clear();
  outer.strides.clear();
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim]) continue;
    outer.sizes.push_back(result.sizes[dim]);
    outer.strides.push_back(result.strides[dim]);
  }
  return outer;
}

}  // namespace

llvm::Value* reduction_fits(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  const FlowTensor& x = row.operands[0];
  const DType result = emit.flow().type(row.step.node.outputs[0]).dtype;
  const bool is_total = row.plan.combine == cpu::Combine::Sum || row.plan.combine == cpu::Combine::Prod;
  const bool is_plain =
      result == (is_total && combining_compute(x.dtype) == Compute::I64 ? DType::I64 : x.dtype);
  if (!is_plain || x.element != nullptr) return nullptr;
  llvm::IRBuilder<>& build = emit.build();
  if (x.deferred) {
    llvm::Value* const is_block = build.CreateICmpSLE(x.sizes[0], emit.int_value(kReductionBlock));
    return build.CreateAnd(is_block, leaves_fit(*x.deferred));
  }
  const auto sequences = sequences_of(emit, x, row.plan.dims);
  if (!sequences) return nullptr;
  llvm::Value* const is_block = build.CreateICmpSLE(sequences->count, emit.int_value(kReductionBlock));
  return build.CreateAnd(is_block, build.CreateICmpSLE(emit.count(x), emit.int_value(kMostRowElements)));
}

namespace {

// A line of elements of this dtype, combined and rounded to the dtype of the result.
void combine_into(const FlowRow& row, llvm::Value* place, llvm::Value* count, FlowExpression& expression,
                  const ElementsFn& elements) {
  FlowEmitter& emit = row.emit;
  const Compute compute = combining_compute(row.operands[0].dtype);
  const Reduction reduction{.combine = row.plan.combine, .accumulator = dtype_of(compute)};
  llvm::Value* const total = combine_line(emit, reduction, count, [&](llvm::Value* index, llvm::Value* rest) {
    return expression.steps().in(elements(index, rest), compute);
  });
  llvm::Value* const element = emit.scalars().narrowed(total, compute, row.result.dtype);
  emit.build().CreateAlignedStore(element, place, llvm::Align(bytes_of(row.result.dtype)));
}

// Of one line, which is computed on the way.
void emit_deferred_reduction(const FlowRow& row) {
  const FlowTensor& x = row.operands[0];
  FlowSpace space(row.emit, x.sizes);
  for (const FlowTensor& each : leaves_of(x)) space.add(each);
  space.each_line([&](llvm::Value* count, const std::vector<FlowLine>& lines) {
    FlowExpression expression(row.emit, lines);
    combine_into(row, row.emit.address(row.result), count, expression, expression.reader(x));
  });
}

}  // namespace

void emit_reduction(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  const FlowTensor& x = row.operands[0];
  if (x.deferred) return emit_deferred_reduction(row);
  const Sequences sequences = *sequences_of(emit, x, row.plan.dims);
  FlowSpace space(emit, sequences.outer.sizes);
  space.add(outer_of(row.result, row.plan.dims));
  space.add(sequences.outer);
  space.simplify();
  space.each_place([&](const std::vector<llvm::Value*>& places) {
    const FlowLine line{x.dtype, places[1], sequences.stride, nullptr};
    FlowExpression expression(emit, {&line, 1});
    combine_into(row, places[0], sequences.count, expression, expression.reader(x));
  });
}

}  // namespace kiln::jit
