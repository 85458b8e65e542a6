// Owns the transpositions of small blocks, compiled once per instruction set: squares of vectors in
// registers.
#include <cstring>

#include "tensor/cpu/isa/elements.h"
#include "tensor/cpu/isa/squares.h"
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

template <class V, class T>
void transpose(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t columns, bool streaming) {
  Block<V, T> block;
  block.read(reinterpret_cast<const T*>(from), from_stride, rows, columns);
  // Parts of lines are not streamed: they would be read, joined and written one by one.
  const auto places =
      reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(to_stride) * sizeof(T);
  block.write(reinterpret_cast<T*>(to), to_stride, rows, columns, streaming && places % 64 == 0);
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static constexpr TransposeKernels kKernels{
      {&transpose<Bytes, std::uint8_t>, &transpose<Shorts, std::uint16_t>, &transpose<Words, std::uint32_t>,
       &transpose<Doubles, std::uint64_t>}};
  return kKernels;
}

}  // namespace kiln::cpu::KILN_ISA
