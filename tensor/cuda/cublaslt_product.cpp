#include "tensor/cuda/cublaslt_product.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include <fmt/format.h>

#include "tensor/cuda/axes.h"
#include "tensor/cuda/copy.h"
#include "tensor/cuda/cublaslt.h"
#include "tensor/cuda/operands.h"
#include "tensor/cuda/refusal.h"
#include "tensor/product_operands.h"
#include "tensor/warning.h"

namespace kiln::cuda {
namespace {

// Of more products in a batch than a grid has blocks along its third axis, cublasLt refuses some.
constexpr std::int64_t kMostProducts = 65535;

// A product with a vector reads its matrix once, which Kiln's own kernel does as fast, with the CPU's bits.
bool is_for_library(const ProductOperands& operands, const Tensor& result) {
  return is_float(result.dtype()) && result.numel() > 0 && operands.rows() > 1 && operands.columns() > 1 &&
         operands.depth() > 0 && count_elements(operands.batch) <= kMostProducts;
}

bool library_is_here() {
  const CublasLtFinding& found = cublaslt();
  if (found.state == State::Usable) return true;
  static std::once_flag told;
  std::call_once(told, [&] {
    const char* const meaning =
        found.state == State::Missing ? "" : ", so products of matrices run by a kernel of Kiln's own";
    const Refusal refusal = *refusal_of(found);
    warn(fmt::format("{}{}\nhelp: {}", refusal.sentence, meaning, refusal.way_out));
  });
  return false;
}

// ---- Operands ----

// Whether distances of `bytes` keep elements as aligned as those of `plain` bytes do.
bool keeps_alignment(std::int64_t bytes, std::int64_t plain) {
  const auto alignment = [](std::int64_t distance) {
    constexpr auto kMost = std::countr_zero(kCublasAlignment);
    return std::min(kMost, std::countr_zero(static_cast<std::uint64_t>(distance)));
  };
  return alignment(bytes) >= alignment(plain);
}

bool is_aligned(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.raw()) % kCublasAlignment == 0; }

// Are the neighbours in a column of the matrix neighbours in memory? cublasLt then reads it as it is, and the
// others transposed, since its own matrices are by columns and the result is to be by rows.
bool is_by_column(const MatrixOperand& operand) {
  return operand.row_stride == 1 && operand.column_stride != 1;
}

CublasMatrix matrix_of(const MatrixOperand& operand, std::int64_t batch_stride) {
  if (is_by_column(operand))
    return {true, operand.rows, operand.columns, operand.column_stride, batch_stride};
  return {false, operand.columns, operand.rows, operand.row_stride, batch_stride};
}

// How far apart the matrices of the batch are, where that is the same for all neighbours; else -1.
std::int64_t batch_stride(const MatrixOperand& operand, const IntDims& batch) {
  const IntDims strides[] = {strides_along(operand, batch)};
  const WalkAxes walk(batch, strides);
  return walk.sizes.size() == 1 ? walk.strides[0][0] : -1;
}

bool can_be_read(const MatrixOperand& operand, const Tensor& x, const CublasMatrix& matrix) {
  const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
  const bool has_lines = is_by_column(operand) || operand.column_stride == 1;
  return has_lines && matrix.stride >= 0 && matrix.leading >= matrix.rows && is_aligned(x) &&
         keeps_alignment(matrix.leading * item, matrix.rows * item) &&
         keeps_alignment(matrix.stride * item, matrix.rows * matrix.columns * item);
}

struct Ready {
  Tensor tensor;
  CublasMatrix matrix;
};

// All matrices of the batch one after the other, each by rows or by columns as it was.
Ready laid_out(const MatrixOperand& operand, const Tensor& x, const IntDims& batch) {
  IntDims sizes = batch, strides = strides_along(operand, batch);
  const bool by_column = is_by_column(operand);
  sizes.push_back(by_column ? operand.columns : operand.rows);
  sizes.push_back(by_column ? operand.rows : operand.columns);
  strides.push_back(by_column ? operand.column_stride : operand.row_stride);
  strides.push_back(by_column ? operand.row_stride : operand.column_stride);
  const Tensor copy = cuda::laid_out(Tensor::alias(x, {sizes, strides, x.offset()}));
  const std::int64_t rows = sizes[sizes.size() - 1], columns = sizes[sizes.size() - 2];
  return {copy, {by_column, rows, columns, rows, count_elements(batch) > 1 ? rows * columns : 0}};
}

Ready ready(const MatrixOperand& operand, const Tensor& x, const IntDims& batch) {
  const CublasMatrix matrix = matrix_of(operand, batch_stride(operand, batch));
  return can_be_read(operand, x, matrix) ? Ready{x, matrix} : laid_out(operand, x, batch);
}

Tensor ready(const Tensor& bias) {
  return !bias || (bias.is_contiguous() && is_aligned(bias)) ? bias : cuda::laid_out(bias);
}

CublasAnswer multiply(const ProductOperands& operands, const Ready& x, const Ready& y, const Tensor& bias,
                      const Tensor& result, bool is_tf32) {
  const std::int64_t batch = count_elements(operands.batch), m = operands.rows(), n = operands.columns();
  const CublasProduct product{.dtype = result.dtype(),
                              .is_tf32 = is_tf32 && result.dtype() == DType::F32,
                              .has_bias = static_cast<bool>(bias),
                              .batch = batch,
                              .a = y.matrix,
                              .b = x.matrix,
                              .d = {false, n, m, n, batch > 1 ? m * n : 0}};
  return multiply_by_cublaslt(
      Context::of(result.device()), product,
      {y.tensor.raw(), x.tensor.raw(), result.raw_writable(), bias ? bias.raw() : nullptr});
}

}  // namespace

bool multiply_by_library(const Tensor& result, const Tensor& x, const Tensor& y, const Tensor& bias,
                         bool is_tf32) {
  const ProductOperands operands = product_operands(x.layout(), y.layout());
  if (!is_for_library(operands, result) || !library_is_here()) return false;
  const IntDims& batch = operands.batch;
  const Tensor to =
      is_aligned(result) ? result : Tensor::empty(result.sizes(), result.dtype(), result.device());
  const Tensor added = ready(bias);
  const auto multiplied = [&](const Ready& left, const Ready& right) {
    return multiply(operands, left, right, added, to, is_tf32);
  };
  CublasAnswer answer = multiplied(ready(operands.left, x, batch), ready(operands.right, y, batch));
  if (answer == CublasAnswer::NoGaps)
    answer = multiplied(laid_out(operands.left, x, batch), laid_out(operands.right, y, batch));
  if (answer != CublasAnswer::Given) return false;
  if (!is_aligned(result)) copy_elements(result, to);
  return true;
}

}  // namespace kiln::cuda
