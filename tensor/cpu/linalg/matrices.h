// Owns the way of matrices into and out of tensors: each of a batch is copied into column-major memory of the
// same alignment, so that layouts and addresses change no result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/cpu/linalg/numbers.h"
#include "tensor/cpu/products/product_kernels.h"
#include "tensor/error.h"
#include "tensor/memory.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Memory of one thread, given out in 64-byte aligned pieces that live as long as this.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (const auto& [block, bytes] : blocks_) memory::give_block(block, bytes);
  }
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(T);
    blocks_.emplace_back(memory::take_block(bytes), bytes);
    return static_cast<T*>(blocks_.back().first);
  }
  // From now on the pieces of another one live as long as this.
  void take_over(Scratch& other) {
    blocks_.insert(blocks_.end(), other.blocks_.begin(), other.blocks_.end());
    other.blocks_.clear();
  }

 private:
  std::vector<std::pair<void*, std::size_t>> blocks_;
};

// Square by square, which the compiler turns in registers; `column_stride` may be a constant.
template <class T, class Stride>
void copy_by_squares(const T* from, std::int64_t row_stride, Stride column_stride, std::int64_t rows,
                     std::int64_t columns, T* to, std::int64_t leading) {
  constexpr std::int64_t kSide = 4;
  for (std::int64_t column = 0; column < columns; column += kSide) {
    for (std::int64_t row = 0; row < rows; row += kSide) {
      const T* source = from + row * row_stride + column * column_stride;
      T* target = to + row + column * leading;
      const std::int64_t height = std::min(kSide, rows - row);
      const std::int64_t width = std::min(kSide, columns - column);
      if (height == kSide && width == kSide) {
        T square[kSide][kSide];
        for (std::int64_t i = 0; i < kSide; ++i)
          for (std::int64_t j = 0; j < kSide; ++j) square[j][i] = source[i * row_stride + j * column_stride];
        for (std::int64_t j = 0; j < kSide; ++j)
          for (std::int64_t i = 0; i < kSide; ++i) target[i + j * leading] = square[j][i];
      } else {
        for (std::int64_t i = 0; i < height; ++i)
          for (std::int64_t j = 0; j < width; ++j)
            target[i + j * leading] = source[i * row_stride + j * column_stride];
      }
    }
  }
}

// to[i + j * leading] = from[i * row_stride + j * column_stride]
template <class T>
void copy_matrix(const T* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                 std::int64_t columns, T* to, std::int64_t leading) {
  if (row_stride == 1) {
    for (std::int64_t j = 0; j < columns; ++j) std::copy_n(from + j * column_stride, rows, to + j * leading);
  } else if (column_stride == 1) {
    copy_by_squares(from, row_stride, std::integral_constant<std::int64_t, 1>(), rows, columns, to, leading);
  } else {
    copy_by_squares(from, row_stride, column_stride, rows, columns, to, leading);
  }
}
template <class T>
void copy_matrix(const T* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                 std::int64_t columns, T* to) {
  copy_matrix(from, row_stride, column_stride, rows, columns, to, rows);
}

// The last two dimensions of a tensor, its batch broadcast to more dimensions.
template <class T>
class Matrices {
 public:
  Matrices(const Tensor& x, std::span<const Dim> batch) : batch_(batch.begin(), batch.end()), x_(x) {
    const Layout& layout = x.layout();
    const std::size_t outer = layout.sizes.size() - 2;
    rows_ = layout.sizes[outer];
    columns_ = layout.sizes[outer + 1];
    row_stride_ = layout.strides[outer];
    column_stride_ = layout.strides[outer + 1];
    strides_ = broadcast_layout({Dims(layout.sizes.begin(), layout.sizes.end() - 2),
                                 Dims(layout.strides.begin(), layout.strides.end() - 2), 0},
                                batch)
                   .strides;
  }
  explicit Matrices(const Tensor& x)
      : Matrices(x, std::span<const Dim>(x.sizes()).first(x.sizes().size() - 2)) {}

  // LAPACK counts in `int`. Throws OpError (Overflow).
  int rows() const { return to_int(rows_); }
  int columns() const { return to_int(columns_); }
  std::int64_t count() const { return count_elements(batch_); }

  MatrixView<T> view(std::int64_t i) const { return {x_.data<T>() + start(i), row_stride_, column_stride_}; }
  // Matrix `i`, column-major.
  void read(std::int64_t i, T* to) const {
    copy_matrix(x_.data<T>() + start(i), row_stride_, column_stride_, rows_, columns_, to);
  }
  void read_transposed(std::int64_t i, T* to) const {
    copy_matrix(x_.data<T>() + start(i), column_stride_, row_stride_, columns_, rows_, to);
  }

 private:
  static int to_int(std::int64_t size) {
    if (size > std::numeric_limits<int>::max() / 64) {  // workspaces are counted likewise
      throw OpError(ErrorKind::Overflow,
                    "a matrix with a dimension of " + std::to_string(size) + " is too large to factorize");
    }
    return static_cast<int>(size);
  }
  std::int64_t start(std::int64_t i) const {
    std::int64_t offset = 0;
    for (std::size_t d = batch_.size(); d-- > 0; i /= batch_[d]) offset += i % batch_[d] * strides_[d];
    return offset;
  }

  IntDims batch_;
  IntDims strides_;
  const Tensor& x_;
  std::int64_t rows_, columns_, row_stride_, column_stride_;
};

// Writes a column-major matrix with columns `leading` apart into row-major memory.
template <class T>
void write_matrix(const T* from, std::int64_t leading, std::int64_t rows, std::int64_t columns, T* to) {
  copy_matrix(from, leading, std::int64_t{1}, columns, rows, to);
}

// Runs f(i) for every matrix of a batch, each about `work` multiply-adds. Each thread makes its own
// f = worker(memory).
template <class Worker>
void each_matrix(std::int64_t count, double work, const Worker& worker) {
  constexpr double kEach = 200;  // what the smallest matrix takes beside
  const auto grain = static_cast<std::int64_t>(std::max(1.0, 32768.0 / (work + kEach)));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch memory;
    auto f = worker(memory);
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// Runs f(piece) for each of so many pieces of one matrix, which threads share when the multiply-adds are
// many.
template <class F>
void each_piece(int pieces, double work, const F& f) {
  constexpr double kWorthSharing = 1e6;
  parallel_for(pieces, work < kWorthSharing ? pieces : 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto piece = static_cast<int>(begin); piece < end; ++piece) {
      check_interrupt();
      f(piece);
    }
  });
}

// A size that LAPACK gave for its workspace; in f32 it may have been rounded down. Throws OpError (Overflow).
template <class T>
int workspace_size(T best) {
  const auto given = real_part(best);
  const auto size = std::ceil(std::nextafter(given, std::numeric_limits<RealOf<T>>::infinity()));
  if (!(static_cast<double>(size) < std::numeric_limits<int>::max()))
    throw OpError(ErrorKind::Overflow, "a matrix is too large to factorize: its workspace has no size");
  return static_cast<int>(size);
}

// Calls f<T>() with the type of elements: float, double, or std::complex of them.
template <class F>
auto with_element(DType dtype, const F& f) {
  switch (dtype) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::C64:
      return f.template operator()<std::complex<float>>();
    case DType::C128:
      return f.template operator()<std::complex<double>>();
    default:
      return f.template operator()<double>();
  }
}

}  // namespace kiln::cpu
