#include "tensor/cpu/products/matmul.h"

#include <algorithm>
#include <vector>

#include "tensor/convert.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/elementwise.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/products/gemm.h"
#include "tensor/cpu/products/tile_product.h"
#include "tensor/cpu/products/vector_product.h"
#include "tensor/error.h"
#include "tensor/ops/scalar.h"
#include "tensor/parallel.h"
#include "tensor/product_operands.h"

namespace kiln::cpu {

namespace {

// Where every matrix of the batch starts, relative to the tensor's first element.
SmallVector<std::int64_t, 1> starts(const MatrixOperand& operand, std::span<const std::int64_t> batch) {
  if (batch.empty()) return {0};
  const IntDims strides = strides_along(operand, batch);
  SmallVector<std::int64_t, 1> result(static_cast<std::size_t>(count_elements(dims(batch))));
  IntDims index(batch.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t& start : result) {
    start = at;
    for (std::size_t d = batch.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < batch[d]) break;
      at -= strides[d] * batch[d];
      index[d] = 0;
    }
  }
  return result;
}

template <class T>
SmallVector<Product<T>, 1> products_of(const Tensor& result, const Tensor& x, const Tensor& y,
                                       const ProductOperands& operands) {
  const MatrixOperand &a = operands.left, &b = operands.right;
  const SmallVector<std::int64_t, 1> left = starts(a, operands.batch);
  const SmallVector<std::int64_t, 1> right = starts(b, operands.batch);
  T* out = result.writable<T>();
  SmallVector<Product<T>, 1> products;
  products.reserve(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    products.push_back({{x.data<T>() + left[i], a.row_stride, a.column_stride},
                        {y.data<T>() + right[i], b.row_stride, b.column_stride},
                        out + static_cast<std::int64_t>(i) * a.rows * b.columns});
  }
  return products;
}

template <class T>
void run(const Tensor& result, const Tensor& x, const Tensor& y, ResultPieces* pieces) {
  const ProductOperands operands = product_operands(x.layout(), y.layout());
  const SmallVector<Product<T>, 1> products = products_of<T>(result, x, y, operands);
  const std::int64_t m = operands.rows(), n = operands.columns(), k = operands.depth();
  if (pieces == nullptr) return multiply<T>(products, m, n, k);
  pieces->begin(result);
  const auto done = [pieces](std::int64_t begin, std::int64_t end) { pieces->piece(begin, end); };
  const RangeFn each(done);
  multiply<T>(products, m, n, k, &each);
}

using RunFn = void (*)(const Tensor&, const Tensor&, const Tensor&, ResultPieces*);
RunFn runner(DType dtype) {
  switch (dtype) {
    case DType::U8:
      return run<std::uint8_t>;
    case DType::I8:
      return run<std::int8_t>;
    case DType::I16:
      return run<std::int16_t>;
    case DType::I32:
      return run<std::int32_t>;
    case DType::I64:
      return run<std::int64_t>;
    case DType::F32:
      return run<float>;
    case DType::F64:
      return run<double>;
    default:
      throw InternalError("matmul has no kernel for this dtype");
  }
}

// Matrices of halves whose rows or columns are contiguous: themselves, or a copy.
Tensor by_lines(const Tensor& x) {
  const MatrixOperand laid = left_operand(x.layout());
  const bool by_row = laid.column_stride == 1 && laid.row_stride >= laid.columns;
  const bool by_column = laid.row_stride == 1 && laid.column_stride >= laid.rows;
  return by_row || by_column ? x : contiguous_copy(x, x.dtype());
}

template <class T>
using MultiplyFn = bool (*)(std::span<const Product<T>>, std::int64_t m, std::int64_t n, std::int64_t k);

// False when `multiply` does not take these operands.
template <class T>
bool product_by(MultiplyFn<T> multiply, const Tensor& result, const Tensor& left, const Tensor& right) {
  if (result.numel() == 0) return false;
  const ProductOperands operands = product_operands(left.layout(), right.layout());
  return multiply(products_of<T>(result, left, right, operands), operands.rows(), operands.columns(),
                  operands.depth());
}

template <class T>
bool multiply_vectors(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  multiply_vectors_of_halves<T>(products, m, n, k);
  return true;
}

// Rows so few are multiplied as vectors, which takes less time than to convert the other operand.
constexpr std::int64_t kFewRows = 8;

// On the processor's tiles, or as vectors; false when neither takes the operands.
bool half_product(const Tensor& result, const Tensor& x, const Tensor& y) {
  const bool is_bf16 = x.dtype() == DType::BF16;
  const std::int64_t depth = std::max<std::int64_t>(1, x.size(x.rank() - 1));
  const std::int64_t all_rows = x.rank() == 1 ? Dim(1) : x.numel() / depth;
  const std::int64_t rows =
      y.rank() > 2 && x.rank() > 1 ? x.size(x.rank() - 2).fixed() : all_rows;  // of each product
  const auto by_vectors = [&] {
    return is_bf16 ? product_by<BFloat16>(multiply_vectors<BFloat16>, result, x, y)
                   : product_by<Half>(multiply_vectors<Half>, result, x, y);
  };
  if (rows == 1 || y.rank() == 1 || y.size(y.rank() - 1) == 1) return by_vectors();
  const std::int64_t columns = y.size(y.rank() - 1), count = rows == 0 ? 0 : all_rows / rows;
  if (is_bf16 ? tiles::pays<BFloat16>(count, rows, columns, depth)
              : tiles::pays<Half>(count, rows, columns, depth)) {
    const Tensor left = by_lines(x), right = by_lines(y);
    const bool done = is_bf16 ? product_by<BFloat16>(tiles::multiply<BFloat16>, result, left, right)
                              : product_by<Half>(tiles::multiply<Half>, result, left, right);
    if (done) return true;
  }
  return rows <= kFewRows && by_vectors();
}

// Columns times rows: each element of the result is one product, rounded once in all dtypes.
void products_of_pairs(const Tensor& result, const Tensor& x, const Tensor& y, ResultPieces* pieces) {
  if (pieces != nullptr) pieces->begin(result);
  const Params params{};
  const Operand operands[] = {{&x}, {&y}};
  run_elementwise(
      {.kernels = kernel_table().rows[kRow_mul], .compute = compute_of(x.dtype()), .params = &params},
      operands, result);
  if (pieces != nullptr) {
    constexpr std::int64_t kGrain = 1 << 14;
    const std::int64_t columns = std::max<std::int64_t>(1, result.size(result.rank() - 1));
    parallel_for(
        result.numel() / columns, std::max<std::int64_t>(1, kGrain / columns),
        [&](std::int64_t begin, std::int64_t end) { pieces->piece(begin * columns, end * columns); });
  }
}

// What adds elements of a dtype; nothing where the instruction set has none, of halves.
BlockKernel sum_kernel(DType dtype) { return kernel_table().rows[kRow_add].block[static_cast<int>(dtype)]; }

std::byte* first_element(const Tensor& x) {
  return x.storage()->data() + static_cast<std::size_t>(x.offset()) * size_of(x.dtype());
}

template <class T>
void add_one_by_one(const std::byte* added, std::byte* row, std::int64_t n) {
  const T* const from = reinterpret_cast<const T*>(added);
  T* const to = reinterpret_cast<T*>(row);
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = scalar::convert<T>(scalar::widen(to[i]) + scalar::widen(from[i]));
}

// To rows [begin, end).
void add_rows(const Tensor& product, const Tensor& bias, std::int64_t begin, std::int64_t end) {
  const BlockKernel kernel = sum_kernel(product.dtype());
  const std::byte* const added = first_element(bias);
  const std::size_t bytes = static_cast<std::size_t>(bias.numel()) * size_of(product.dtype());
  for (std::int64_t i = begin; i < end; ++i) {
    std::byte* const row = first_element(product) + static_cast<std::size_t>(i) * bytes;
    if (kernel != nullptr) {
      const void* const operands[] = {row, added};
      kernel(operands, row, bias.numel(), Params{});
    } else if (product.dtype() == DType::F16) {
      add_one_by_one<Half>(added, row, bias.numel());
    } else {
      add_one_by_one<BFloat16>(added, row, bias.numel());
    }
  }
}

// The bias as rows that the product consists of: spread over it first when it has a shape of its own.
Tensor rows_of(const Tensor& product, const Tensor& bias) {
  const bool whole_rows =
      bias.rank() <= 1 && (bias.numel() == 1 || product.size(product.rank() - 1) == bias.numel());
  if (whole_rows && bias.is_contiguous()) return bias;
  const Tensor rows = Tensor::empty(whole_rows ? bias.sizes() : product.sizes(), bias.dtype(), bias.device());
  copy(rows, bias);
  return rows;
}

}  // namespace

void matmul(const Tensor& result, const Tensor& x, const Tensor& y, ResultPieces* pieces) {
  if (multiplies_pairs(x.sizes(), y.sizes())) return products_of_pairs(result, x, y, pieces);
  if (x.dtype() == DType::F16 || x.dtype() == DType::BF16) {
    if (half_product(result, x, y)) return;
    const Tensor wide = Tensor::empty(result.sizes(), DType::F32, result.device());
    matmul(wide, contiguous_copy(x, DType::F32), contiguous_copy(y, DType::F32));
    return copy(result, wide);
  }
  runner(x.dtype())(result, x, y, pieces);
}

std::optional<PlacedProduct> PlacedProduct::of(const Tensor& x, const Tensor& y) {
  const bool is_known = x.dtype() == y.dtype() && (x.dtype() == DType::F32 || x.dtype() == DType::F64);
  if (!is_known || multiplies_pairs(x.sizes(), y.sizes())) return std::nullopt;
  if (x.numel() == 0 || y.numel() == 0) return std::nullopt;
  const ProductOperands operands = product_operands(x.layout(), y.layout());
  const MatrixOperand &a = operands.left, &b = operands.right;
  PlacedProduct product;
  product.dtype_ = x.dtype();
  product.rows_ = a.rows;
  product.columns_ = b.columns;
  product.depth_ = a.columns;
  product.a_ = {a.row_stride, a.column_stride};
  product.b_ = {b.row_stride, b.column_stride};
  product.left_ = starts(a, operands.batch);
  product.right_ = starts(b, operands.batch);
  return product;
}

template <class T>
void PlacedProduct::multiply_at(std::span<const Places> each) const {
  SmallVector<Product<T>, 1> products;
  products.reserve(each.size() * left_.size());
  for (const auto& [a, b, result] : each) {
    for (std::size_t i = 0; i < left_.size(); ++i) {
      products.push_back({{reinterpret_cast<const T*>(a) + left_[i], a_.row, a_.column},
                          {reinterpret_cast<const T*>(b) + right_[i], b_.row, b_.column},
                          reinterpret_cast<T*>(result) + static_cast<std::int64_t>(i) * rows_ * columns_});
    }
  }
  multiply<T>(products, rows_, columns_, depth_);
}

void PlacedProduct::run(std::span<const Places> each) const {
  dtype_ == DType::F32 ? multiply_at<float>(each) : multiply_at<double>(each);
}

void add_bias(const Tensor& product, const Tensor& bias) {
  if (product.numel() == 0) return;
  const Tensor rows = rows_of(product, bias);
  const std::int64_t columns = rows.numel();
  parallel_for(product.numel() / columns, std::max<std::int64_t>(1, (1 << 15) / columns),
               [&](std::int64_t begin, std::int64_t end) { add_rows(product, rows, begin, end); });
}

void BiasPieces::begin(const Tensor& result) {
  result_ = result;
  rows_ = rows_of(result, bias_);
  next_.begin(result);
}

void BiasPieces::piece(std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = rows_.numel();
  if (begin % columns == 0 && end % columns == 0) {
    add_rows(result_, rows_, begin / columns, end / columns);
  } else {
    const Tensor part = Tensor::alias(rows_, {IntDims{end - begin}, IntDims{1}, begin});
    add_rows(Tensor::alias(result_, {IntDims{end - begin}, IntDims{1}, begin}), part, 0, 1);
  }
  next_.piece(begin, end);
}

}  // namespace kiln::cpu
