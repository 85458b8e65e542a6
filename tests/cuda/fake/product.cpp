#include "tests/cuda/fake/product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/convert.h"

namespace kiln::fake {
namespace {

constexpr std::uint64_t kMark = 0x6b696c6e66616b65;
constexpr std::uint64_t kWorkspace = 4096;  // that an algorithm takes where it may

bool is_type(unsigned type) {
  return type == kRealF32 || type == kRealF64 || type == kRealF16 || type == kRealBf16;
}
bool is_half(unsigned type) { return type == kRealF16 || type == kRealBf16; }

bool is_whole(const MatrixLayoutData& matrix) {
  return is_type(matrix.type) && matrix.rows > 0 && matrix.columns > 0 && matrix.batch > 0 &&
         matrix.leading >= static_cast<std::int64_t>(matrix.rows) && matrix.batch_stride >= 0;
}

struct Extents {
  std::uint64_t rows, columns;
};
Extents extents_of(const MatrixLayoutData& matrix, int transpose) {
  return transpose == kNotTransposed ? Extents{matrix.rows, matrix.columns}
                                     : Extents{matrix.columns, matrix.rows};
}

bool fits(const Product& product) {
  const Extents a = extents_of(product.a, product.description.transpose_a),
                b = extents_of(product.b, product.description.transpose_b);
  const bool same_result = product.c.rows == product.d.rows && product.c.columns == product.d.columns;
  const bool same_batch = product.a.batch == product.d.batch && product.b.batch == product.d.batch &&
                          product.c.batch == product.d.batch;
  return a.columns == b.rows && a.rows == product.d.rows && b.columns == product.d.columns && same_result &&
         same_batch;
}

// The combinations of types that cublasLt has, of those that Kiln may use.
bool has_kernel(const Product& product) {
  const MatmulDescData& how = product.description;
  const unsigned in = product.a.type, out = product.d.type;
  if (product.b.type != in || product.c.type != out) return false;
  switch (how.compute) {
    case kComputeF64:
      return how.scale == kRealF64 && in == kRealF64 && out == kRealF64;
    case kComputeFastTf32:
      return how.scale == kRealF32 && in == kRealF32 && out == kRealF32;
    case kComputeF32:
      return how.scale == kRealF32 && in != kRealF64 && (out == in || (is_half(in) && out == kRealF32));
    default:
      return false;
  }
}

unsigned bias_type_of(const Product& product) {
  const int set = product.description.bias_type;
  return set < 0 ? product.d.type : static_cast<unsigned>(set);
}

// ---- Elements --------------------------------------------------------------------------------------------

template <class To, class From>
To element(const void* place, std::int64_t index) {
  return static_cast<To>(scalar::widen(static_cast<const From*>(place)[index]));
}

template <class To>
To element(const void* place, unsigned type, std::int64_t index) {
  switch (type) {
    case kRealF64:
      return element<To, double>(place, index);
    case kRealF16:
      return element<To, Half>(place, index);
    case kRealBf16:
      return element<To, BFloat16>(place, index);
    default:
      return element<To, float>(place, index);
  }
}

template <class From>
void store(void* place, unsigned type, std::int64_t index, From value) {
  switch (type) {
    case kRealF64:
      static_cast<double*>(place)[index] = static_cast<double>(value);
      return;
    case kRealF16:
      static_cast<Half*>(place)[index] = scalar::convert<Half>(value);
      return;
    case kRealBf16:
      static_cast<BFloat16*>(place)[index] = scalar::convert<BFloat16>(value);
      return;
    default:
      static_cast<float*>(place)[index] = static_cast<float>(value);
  }
}

// A matrix of the batch with its transpose done, by columns without gaps.
template <class T>
std::vector<T> packed(const void* place, const MatrixLayoutData& matrix, int transpose, int batch) {
  const Extents extents = extents_of(matrix, transpose);
  const auto rows = static_cast<std::int64_t>(extents.rows),
             columns = static_cast<std::int64_t>(extents.columns);
  std::vector<T> result(static_cast<std::size_t>(rows * columns));
  const std::int64_t begin = batch * matrix.batch_stride;
  auto to = result.begin();
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t index =
          transpose == kNotTransposed ? column * matrix.leading + row : row * matrix.leading + column;
      *to++ = element<T>(place, matrix.type, begin + index);
    }
  }
  return result;
}

// Ten bits of the mantissa, to nearest with ties to even.
void round_to_tf32(std::vector<float>& elements) {
  for (float& each : elements) {
    auto bits = __builtin_bit_cast(std::uint32_t, each);
    if (!std::isfinite(each)) continue;
    bits = (bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU;
    each = __builtin_bit_cast(float, bits);
  }
}

template <class T>
void finish_column(const Product& product, const Operands& operands, int batch, std::int64_t column,
                   const std::vector<T>& sums) {
  const MatmulDescData& how = product.description;
  const auto alpha = static_cast<T>(operands.alpha), beta = static_cast<T>(operands.beta);
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(sums.size()); ++row) {
    T value = alpha * sums[static_cast<std::size_t>(row)];
    if (beta != T(0)) {
      const std::int64_t index = batch * product.c.batch_stride + column * product.c.leading + row;
      value += beta * element<T>(operands.c, product.c.type, index);
    }
    if (how.epilogue == kEpilogueBias)
      value += element<T>(how.bias, bias_type_of(product), batch * how.bias_stride + row);
    store(operands.d, product.d.type, batch * product.d.batch_stride + column * product.d.leading + row,
          value);
  }
}

template <class T>
void compute_one(const Product& product, const Operands& operands, int batch) {
  std::vector<T> a = packed<T>(operands.a, product.a, product.description.transpose_a, batch),
                 b = packed<T>(operands.b, product.b, product.description.transpose_b, batch);
  if constexpr (std::is_same_v<T, float>) {
    if (product.description.compute == kComputeFastTf32) {
      round_to_tf32(a);
      round_to_tf32(b);
    }
  }
  const std::size_t rows = product.d.rows, depth = a.size() / rows;
  std::vector<T> sums(rows);
  for (std::size_t column = 0; column < product.d.columns; ++column) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::size_t k = 0; k < depth; ++k) {
      const T factor = b[column * depth + k];
      const T* const terms = a.data() + k * rows;
      for (std::size_t row = 0; row < rows; ++row) sums[row] += terms[row] * factor;
    }
    finish_column(product, operands, batch, static_cast<std::int64_t>(column), sums);
  }
}

std::uint64_t types_of(const Product& product) {
  const MatmulDescData& how = product.description;
  std::uint64_t all = 0;
  for (const unsigned each :
       {static_cast<unsigned>(how.compute), product.a.type, product.b.type, product.c.type, product.d.type,
        static_cast<unsigned>(how.transpose_a), static_cast<unsigned>(how.transpose_b), how.epilogue})
    all = all * 101 + each;
  return all;
}

bool is_aligned(const void* place, unsigned alignment) {
  return alignment == 0 || reinterpret_cast<std::uintptr_t>(place) % alignment == 0;
}

}  // namespace

std::size_t size_of_type(unsigned type) {
  if (is_half(type)) return sizeof(Half);
  return type == kRealF64 ? sizeof(double) : sizeof(float);
}

std::size_t bytes_of(const MatrixLayoutData& matrix) {
  const auto leading = static_cast<std::size_t>(matrix.leading);
  const auto matrices =
      static_cast<std::size_t>(matrix.batch_stride) * static_cast<std::size_t>(matrix.batch - 1);
  return (matrices + leading * (matrix.columns - 1) + matrix.rows) * size_of_type(matrix.type);
}

CublasResult check(const Product& product) {
  const MatmulDescData& how = product.description;
  for (const MatrixLayoutData* matrix : {&product.a, &product.b, &product.c, &product.d}) {
    if (!is_whole(*matrix)) return kCublasInvalidValue;
    if (matrix->order != kOrderColumns) return kCublasNotSupported;
  }
  if (!fits(product)) return kCublasInvalidValue;
  const bool is_known = how.pointer_mode == kPointersOnHost && how.transpose_c == kNotTransposed &&
                        (how.epilogue == kEpilogueNone || how.epilogue == kEpilogueBias);
  if (!is_known || !has_kernel(product)) return kCublasNotSupported;
  return how.epilogue == kEpilogueBias && !is_type(bias_type_of(product)) ? kCublasNotSupported
                                                                          : kCublasSuccess;
}

Algorithm algorithm_for(const Product& product, const MatmulPreferenceData& preference) {
  return {kMark,
          types_of(product),
          preference.alignment_a,
          preference.alignment_b,
          preference.alignment_c,
          preference.alignment_d,
          preference.workspace >= kWorkspace ? kWorkspace : 0,
          {}};
}

CublasResult check(const Algorithm& algorithm, const Product& product, const Operands& operands) {
  if (algorithm.mark != kMark || algorithm.types != types_of(product)) return kCublasInvalidValue;
  const bool are_aligned =
      is_aligned(operands.a, algorithm.alignment_a) && is_aligned(operands.b, algorithm.alignment_b) &&
      is_aligned(operands.c, algorithm.alignment_c) && is_aligned(operands.d, algorithm.alignment_d);
  return are_aligned ? kCublasSuccess : kCublasInvalidValue;
}

void compute(const Product& product, const Operands& operands) {
  for (int batch = 0; batch < product.d.batch; ++batch) {
    if (product.description.compute == kComputeF64) {
      compute_one<double>(product, operands, batch);
    } else {
      compute_one<float>(product, operands, batch);
    }
  }
}

}  // namespace kiln::fake
