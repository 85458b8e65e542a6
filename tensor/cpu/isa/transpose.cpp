// Owns the transpositions of small blocks, compiled once per instruction set: squares of vectors in
// registers.
#include <algorithm>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "tensor/cpu/elementwise/transpose_kernels.h"
#include "tensor/cpu/isa/squares.h"
#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/prefetch.h"

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
  void write(T* to, std::int64_t stride, std::int64_t rows, std::int64_t columns) const {
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * stride, elements_ + r * kColumns, static_cast<std::size_t>(columns) * sizeof(T));
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

// Squares whose sides are a line, by vectors that are one: each line of the result is written once, as a
// whole, and need not be put together in a block. Halves of lines would have to meet first.
template <class T>
class Lines {
 public:
  static constexpr bool kHas = kVectorBytes == 64;
  static constexpr int kSide = kWidth<T>;
  // Narrower elements are more rows than there are registers.
  static constexpr bool kInRegisters = sizeof(T) >= 4;

  // Whole squares.
  [[gnu::noinline]] static void squares(const T* from, std::int64_t from_stride, T* to,
                                        std::int64_t to_stride, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; r += kSide)
      for (std::int64_t c = 0; c < columns; c += kSide)
        square(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
  }

 private:
  using Vector = VectorOf<T>;

  [[gnu::always_inline]] static void square(const T* from, std::int64_t from_stride, T* to,
                                            std::int64_t to_stride) {
    if constexpr (kInRegisters)
      square_in_registers(from, from_stride, to, to_stride);
    else
      square_by_lanes(from, from_stride, to, to_stride);
  }
  [[gnu::always_inline]] static void square_in_registers(const T* from, std::int64_t from_stride, T* to,
                                                         std::int64_t to_stride) {
    Vector rows[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = load(from + i * from_stride);
    // Or the compiler reads each row twice, as an operand of two instructions, and others that share its
    // place in the cache have pushed it out in between.
    asm volatile("" ::: "memory");
    transpose_square(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) KILN_ISA::store(to + i * to_stride, rows[i]);
  }
  // Copied to where they push nothing out of the first cache, rows are read by lanes.
  [[gnu::always_inline]] static void square_by_lanes(const T* from, std::int64_t from_stride, T* to,
                                                     std::int64_t to_stride) {
    alignas(64) T near[kSide * kSide];
    for (int i = 0; i < kSide; ++i) KILN_ISA::store(near + i * kSide, load(from + i * from_stride));
    for (int r = 0; r < kSide; r += kLane) {
      Vector rows[kLane];
#pragma GCC unroll 16
      for (int i = 0; i < kLane; ++i) rows[i] = load_lanes(near + i * kSide + r);
      transpose_lanes(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLane; ++i) KILN_ISA::store(to + (r + i) * to_stride, rows[i]);
    }
  }

  // Of each stretch of kLane rows one lane, so that each lane of what such vectors are transposed to is the
  // next part of a line.
  static constexpr int kLane = 16 / sizeof(T);
  [[gnu::always_inline]] static Vector load_lanes([[maybe_unused]] const T* from) {
#if defined(__AVX512F__)
    const auto lane = [&](int k) __attribute__((always_inline)) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k * kLane * kSide));
    };
    __m512i all = _mm512_castsi128_si512(lane(0));
    all = _mm512_mask_broadcast_i32x4(all, 0x00f0, lane(1));
    all = _mm512_mask_broadcast_i32x4(all, 0x0f00, lane(2));
    all = _mm512_mask_broadcast_i32x4(all, 0xf000, lane(3));
    return reinterpret_cast<Vector>(all);
#else
    return Vector{};
#endif
  }
};

// At most as many rows as a block has.
template <class V, class T>
[[gnu::noinline]] void through_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                     std::int64_t rows, std::int64_t columns) {
  Block<V, T> block;
  block.read(from, from_stride, rows, columns);
  block.write(to, to_stride, rows, columns);
}

template <class V, class T>
void transpose(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kRows = transpose_rows(sizeof(T));
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  std::int64_t r = 0;
  if constexpr (Lines<T>::kHas) {
    constexpr std::int64_t kSide = Lines<T>::kSide;
    const std::int64_t whole = rows / kSide * kSide, across = columns / kSide * kSide;
    if (across > 0) {
      Lines<T>::squares(source, from_stride, target, to_stride, whole, across);
      if (across < columns) {
        for (; r < whole; r += kRows)
          through_block<V>(source + across * from_stride + r, from_stride, target + r * to_stride + across,
                           to_stride, std::min(kRows, whole - r), columns - across);
      }
      r = whole;
    }
  }
  for (; r < rows; r += kRows)
    through_block<V>(source + r, from_stride, target + r * to_stride, to_stride, std::min(kRows, rows - r),
                     columns);
}

}  // namespace

const TransposeKernels& transpose_kernels() {
  static constexpr TransposeKernels kKernels{
      {&transpose<Bytes, std::uint8_t>, &transpose<Shorts, std::uint16_t>, &transpose<Words, std::uint32_t>,
       &transpose<Doubles, std::uint64_t>}};
  return kKernels;
}

}  // namespace kiln::cpu::KILN_ISA
