// Elementwise steps of flows, copies and fills as loops over vectors of elements.
#include <algorithm>

#include "jit/llvm/flow_expression.h"
#include "jit/llvm/flow_rows.h"

namespace kiln::jit {
namespace {

// `make`: the reader of what is stored, along lines of the leaves.
void store_all(const FlowRow& row, std::span<const FlowTensor> leaves,
               const std::function<ElementsFn(FlowExpression&)>& make) {
  FlowEmitter& emit = row.emit;
  FlowSpace space(emit, row.result.sizes);
  space.add(row.result);
  for (const FlowTensor& each : leaves) space.add(each);
  space.simplify();
  space.each_line([&](llvm::Value* count, const std::vector<FlowLine>& lines) {
    FlowExpression expression(emit, std::span(lines).subspan(1));
    const ElementsFn elements = make(expression);
    each_vector(emit, count, [&](llvm::Value* index, llvm::Value* rest) {
      llvm::Value* const stored = expression.steps().converted(elements(index, rest), row.result.dtype);
      store_elements(emit, lines[0], index, rest, stored);
    });
  });
}

}  // namespace

void emit_elementwise(const FlowRow& row) {
  store_all(row, leaves_of(row), [&row](FlowExpression& expression) { return expression.reader(row); });
}

void emit_copy(const FlowRow& row) { emit_elementwise(row); }

void copy_elements(FlowEmitter& emit, const FlowTensor& from, const FlowTensor& to) {
  FlowSpace space(emit, to.sizes);
  space.add(to);
  space.add(from);
  space.simplify();
  space.each_line([&](llvm::Value* count, const std::vector<FlowLine>& lines) {
    each_vector(emit, count, [&](llvm::Value* index, llvm::Value* rest) {
      store_elements(emit, lines[0], index, rest, load_elements(emit, lines[1], index, rest));
    });
  });
}

void emit_join(const FlowRow& row) {
  FlowEmitter& emit = row.emit;
  llvm::IRBuilder<>& build = emit.build();
  const auto dim = static_cast<std::size_t>(std::find(row.plan.dims.begin(), row.plan.dims.end(), true) -
                                            row.plan.dims.begin());
  FlowTensor part = row.result;
  for (const FlowTensor& each : row.operands) {
    part.sizes[dim] = each.sizes[dim];
    copy_elements(emit, each, part);
    part.offset = build.CreateAdd(part.offset, build.CreateMul(each.sizes[dim], part.strides[dim]));
  }
}

void emit_fill(const FlowRow& row) {
  FlowTensor number;
  if (row.plan.filled) {
    number.dtype = DType::I64;
    number.element = row.emit.int_value(*row.plan.filled);
  } else {
    number = row.operands[0];
  }
  store_all(row, {&number, 1}, [&number](FlowExpression& expression) { return expression.reader(number); });
}

}  // namespace kiln::jit
