// Owns how the operands of a product are read as batches of matrices. The kernels of all devices ask it, as
// the sizes of matrices decide in which order elements are added up (tensor/product_order.h).
#pragma once

#include "tensor/shape.h"

namespace kiln {

// An operand as a batch of matrices: sizes and strides of the batch, then those of one matrix.
struct MatrixOperand {
  IntDims batch;
  IntDims batch_strides;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
};
MatrixOperand left_operand(const Layout& layout);   // of `matmul`: a vector is a row
MatrixOperand right_operand(const Layout& layout);  // a vector is a column

// Both operands of `matmul`, whose shape rule accepted them. Batches broadcast to the sizes of `batch`.
struct ProductOperands {
  IntDims batch;
  MatrixOperand left, right;

  std::int64_t rows() const { return left.rows; }
  std::int64_t columns() const { return right.columns; }
  std::int64_t depth() const { return left.columns; }
};
ProductOperands product_operands(const Layout& left, const Layout& right);

// The strides of an operand's batch, broadcast to these sizes.
IntDims strides_along(const MatrixOperand& operand, std::span<const std::int64_t> batch);

}  // namespace kiln
