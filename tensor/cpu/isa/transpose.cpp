// Owns the transpositions of small blocks, compiled once per instruction set: squares of vectors in
// registers.
#include <algorithm>
#include <cstring>

#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/isa/squares.h"
#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/transpose_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// Rows of vectors V of elements T, as many as a vector has elements.
template <class V, class T>
class Block {
 public:
  // Whole squares go through registers, what is left at the edges one by one.
  void read(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
    const std::int64_t square_rows = rows / kWidth * kWidth, square_columns = columns / kWidth * kWidth;
    for (std::int64_t c = 0; c < square_columns; c += kWidth) {
      // The next block's lines: the processor does not guess so many that go on side by side.
      for (std::int64_t i = c; i < c + kWidth; ++i)
        for (std::int64_t r = 0; r < kRows; r += kLine) cpu::prefetch(from + i * stride + kRows + r);
      for (std::int64_t r = 0; r < square_rows; r += kWidth) square(from + c * stride + r, stride, r, c);
    }
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = c < square_columns ? square_rows : 0; r < rows; ++r)
        elements_[r * kColumns + c] = from[c * stride + r];
  }
  void write(T* to, std::int64_t stride, std::int64_t rows, std::int64_t columns, bool streaming) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const row = elements_ + r * kColumns;
      if (streaming) {
        stream_store(to + r * stride, row, columns);
      } else {
        std::memcpy(to + r * stride, row, static_cast<std::size_t>(columns) * sizeof(T));
      }
    }
  }

 private:
  static constexpr int kWidth = sizeof(V) / sizeof(T);
  static constexpr std::int64_t kLine = 64 / sizeof(T);
  static constexpr std::int64_t kRows = transpose_rows(sizeof(T)), kColumns = transpose_columns(sizeof(T));

  [[gnu::always_inline]] void square(const T* from, std::int64_t stride, std::int64_t r, std::int64_t c) {
    V rows[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) std::memcpy(&rows[i], from + i * stride, sizeof(V));
    transpose_square(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) std::memcpy(elements_ + (r + i) * kColumns + c, &rows[i], sizeof(V));
  }

  // Put together before it is written: rows of the result a power of two apart would push each other out of
  // the cache.
  alignas(64) T elements_[kRows * kColumns];
};

// Lines of the result, written past the caches as soon as they are whole, by vectors that are a line. They
// need not be put together before: lines of the result that are a power of two apart push nothing out of a
// cache that never sees them. Halves of lines would have to meet first.
template <class T>
class Lines {
 public:
  static constexpr bool kHas = kVectorBytes == 64 && sizeof(T) >= 4;  // narrower squares are too many vectors
  static constexpr int kSide = kWidth<T>;

  // Of whole squares: how many rows were written.
  [[gnu::noinline]] static std::int64_t stream(const T* from, std::int64_t from_stride, T* to,
                                               std::int64_t to_stride, std::int64_t rows,
                                               std::int64_t columns) {
    const std::int64_t whole = rows / kSide * kSide;
    for (std::int64_t r = 0; r < whole; r += kSide)
      for (std::int64_t c = 0; c < columns; c += kSide)
        square(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
    return whole;
  }

 private:
  [[gnu::always_inline]] static void stream_line([[maybe_unused]] T* to,
                                                 [[maybe_unused]] const VectorOf<T>& line) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<const __m512i&>(line));
#endif
  }
  [[gnu::always_inline]] static void square(const T* from, std::int64_t from_stride, T* to,
                                            std::int64_t to_stride) {
    VectorOf<T> rows[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = load(from + i * from_stride);
    // Or the compiler reads each row twice, as an operand of two instructions, and others that share its
    // place in the cache have pushed it out in between.
    asm volatile("" ::: "memory");
    transpose_square(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) stream_line(to + i * to_stride, rows[i]);
  }
};

// At most as many rows as a block has.
template <class V, class T>
[[gnu::noinline]] void through_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                     std::int64_t rows, std::int64_t columns, bool streaming) {
  Block<V, T> block;
  block.read(from, from_stride, rows, columns);
  block.write(to, to_stride, rows, columns, streaming);
}

template <class V, class T>
void transpose(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t columns, bool streaming) {
  constexpr std::int64_t kRows = transpose_rows(sizeof(T));
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  // Parts of lines are not streamed: they would be read, joined and written one by one.
  const auto places =
      reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(to_stride) * sizeof(T);
  streaming = streaming && places % 64 == 0;
  std::int64_t r = 0;
  if constexpr (Lines<T>::kHas) {
    if (streaming && rows > kRows && columns % Lines<T>::kSide == 0)
      r = Lines<T>::stream(source, from_stride, target, to_stride, rows, columns);
  }
  for (; r < rows; r += kRows)
    through_block<V>(source + r, from_stride, target + r * to_stride, to_stride, std::min(kRows, rows - r),
                     columns, streaming);
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static constexpr TransposeKernels kKernels{
      {&transpose<Bytes, std::uint8_t>, &transpose<Shorts, std::uint16_t>, &transpose<Words, std::uint32_t>,
       &transpose<Doubles, std::uint64_t>}};
  return kKernels;
}

}  // namespace kiln::cpu::KILN_ISA
