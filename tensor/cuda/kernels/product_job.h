// Owns what kernels of products are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

// Products of matrices of the same sizes. Of products with a vector the matrix is the left operand, whose
// rows are the elements of the result, and the vector the right one, of one column.
struct ProductJob {
  Count products, rows, columns, depth;
  Count parts;  // of the depth, or blocks of a vector product (tensor/product_order.h)
  Count left_row, left_step, right_step, right_column;  // how far apart elements are
  Axes<2> batch;                                        // along the products: of both operands
  Count group;                                          // lanes that have one row by a vector
  const void* left;
  const void* right;
  void* result;  // [products, rows, columns], or none
  void* sums;    // [parts, products, rows, columns]: what the parts come to, where they are computed apart
};

}  // namespace kiln::cuda
