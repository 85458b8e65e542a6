#include "tensor/product_operands.h"

#include "tensor/ops/view_layout.h"

namespace kiln {
namespace {

// A batch of row blocks times one matrix is one product, when the rows are stored evenly.
void fold_batch(MatrixOperand& a, const MatrixOperand& b, const Layout& layout) {
  if (!b.batch.empty() || a.batch.empty()) return;
  const std::int64_t rows = count_elements(a.batch) * a.rows;
  const auto strides = view_strides(layout, IntDims{rows, a.columns});
  if (!strides || rows == 0 || a.columns == 0) return;
  a = {{}, {}, rows, a.columns, (*strides)[0], (*strides)[1]};
}

}  // namespace

MatrixOperand left_operand(const Layout& layout) {
  const std::size_t rank = layout.sizes.size();
  if (rank == 1) return {{}, {}, 1, layout.sizes[0], 0, layout.strides[0]};
  return {IntDims(layout.sizes.begin(), layout.sizes.end() - 2),
          IntDims(layout.strides.begin(), layout.strides.end() - 2),
          layout.sizes[rank - 2],
          layout.sizes[rank - 1],
          layout.strides[rank - 2],
          layout.strides[rank - 1]};
}

MatrixOperand right_operand(const Layout& layout) {
  if (layout.rank() == 1) return {{}, {}, layout.sizes[0], 1, layout.strides[0], 1};
  return left_operand(layout);
}

ProductOperands product_operands(const Layout& left, const Layout& right) {
  ProductOperands operands{{}, left_operand(left), right_operand(right)};
  fold_batch(operands.left, operands.right, left);
  operands.batch = broadcast(operands.left.batch, operands.right.batch, "matmul");
  return operands;
}

IntDims strides_along(const MatrixOperand& operand, std::span<const std::int64_t> batch) {
  return broadcast_layout({operand.batch, operand.batch_strides, 0}, dims(batch)).strides;
}

}  // namespace kiln
