// Owns the kernels that multiply panels of f32 and f64, compiled once per instruction set. Multiplications
// and additions are fused.
#include "tensor/cpu/products/panel_kernels.h"

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/isa/squares.h"
#include "tensor/cpu/isa/vectors.h"
#include "tensor/integers.h"
#include "tensor/product_order.h"

namespace kiln::cpu::KILN_ISA {
namespace {

#if defined(__FMA__)

// A tile of the result fits the registers, with what is multiplied.
constexpr int kLeft = kGroup;
template <class T>
constexpr int kRight = kVectors * kWidth<T>;

// ---- Laying out -------------------------------------------------------------------------------------------

// Some elements, and zeros up to a multiple of kRound.
template <int kRound, class T>
void lay_rest(const T* from, std::int64_t count, T* to) {
  if constexpr (kRound == kWidth<T>) {
    for (; count >= kRound; count -= kRound, from += kRound, to += kRound) store(to, load(from));
    if (count > 0) store(to, load_some(from, count, T{}));
  } else {
    for (int i = 0; i < kRound; ++i) to[i] = i < count ? from[i] : T{};
  }
}

// Elements of depth [begin, end) of lines side by side in memory: some elements of each step.
template <int kLines, int kRound, class T>
void lay_neighbours(const PanelLines<T>& lines, std::int64_t begin, std::int64_t end, T* to,
                    std::int64_t panel) {
  const std::int64_t whole = lines.count / kLines, rest = lines.count % kLines,
                     width = round_up(rest, kRound);
  for (std::int64_t p = begin; p < end; ++p) {
    const T* from = lines.data + p * lines.step;
    T* at = to + p * kLines;
    for (std::int64_t i = 0; i < whole; ++i, from += kLines, at += panel)
      std::memcpy(at, from, kLines * sizeof(T));
    if (rest != 0) lay_rest<kRound>(from, rest, to + whole * panel + p * width);
  }
}

// Elements [begin, end) of up to kSide lines that each lie in one piece: squares change rows and columns in
// registers. Lines from `count` on are zeros.
template <int kSide, bool kAll, class T>
void lay_squares(const T* from, std::int64_t line, std::int64_t count, std::int64_t begin, std::int64_t end,
                 T* to, std::int64_t width) {
  using Vector [[gnu::vector_size(kSide * sizeof(T))]] = T;
  for (std::int64_t p = begin; p < end; p += kSide) {
    Vector rows[kSide];
#pragma GCC unroll 16
    for (int k = 0; k < kSide; ++k) {
      if (kAll || k < count)
        std::memcpy(&rows[k], from + k * line + p, sizeof(Vector));
      else
        rows[k] = Vector{};
    }
    transpose_square(rows);
#pragma GCC unroll 16
    for (int k = 0; k < kSide; ++k) store(to + (p + k) * width, rows[k]);
  }
}

template <class T>
void lay_one_by_one(const PanelLines<T>& lines, std::int64_t begin, std::int64_t end, T* to,
                    std::int64_t width) {
  for (std::int64_t p = begin; p < end; ++p)
    for (std::int64_t i = 0; i < width; ++i)
      to[p * width + i] = i < lines.count ? lines.data[i * lines.line + p * lines.step] : T{};
}

template <class T, int kLines, int kRound>
void lay(const PanelLines<T>& lines, std::int64_t begin, std::int64_t end, T* to, std::int64_t panel) {
  if (lines.line == 1) return lay_neighbours<kLines, kRound>(lines, begin, end, to, panel);
  constexpr int kSide = std::min(kWidth<T>, kLines);
  const std::int64_t squares = lines.step == 1 ? end - (end - begin) % kSide : begin;
  for (std::int64_t first = 0; first < lines.count; first += kLines, to += panel) {
    const std::int64_t count = std::min<std::int64_t>(kLines, lines.count - first);
    const std::int64_t width = round_up(count, kRound);
    const PanelLines<T> some{lines.data + first * lines.line, lines.line, lines.step, count};
    for (std::int64_t i = 0; i < width && begin < squares; i += kSide) {
      const T* const from = some.data + i * lines.line;
      if (count - i >= kSide)
        lay_squares<kSide, true>(from, lines.line, kSide, begin, squares, to + i, width);
      else
        lay_squares<kSide, false>(from, lines.line, count - i, begin, squares, to + i, width);
    }
    lay_one_by_one(some, squares, end, to, width);
  }
}

// ---- Multiplying ------------------------------------------------------------------------------------------

// What a right panel consists of: whole vectors, or a last one that has some columns; those may be laid out
// by the way.
enum class Right { Whole, Some, ByTheWay };

// Puts a row of sums where it belongs, of the last vector so many.
template <class T, class Vector, int kColumns>
[[gnu::always_inline]] inline void put(const Vector (&sum)[kColumns], std::int64_t last, bool accumulate,
                                       T* to) {
  constexpr int kLast = kColumns - 1;
  each<kLast>([&](auto v) __attribute__((always_inline)) {
    T* const at = to + v * kWidth<T>;
    store(at, accumulate ? load(at) + sum[v] : sum[v]);
  });
  T* const at = to + kLast * kWidth<T>;
  if (last == kWidth<T>)
    store(at, accumulate ? load(at) + sum[kLast] : sum[kLast]);
  else
    store_some(at, accumulate ? load_some(at, last, T{}) + sum[kLast] : sum[kLast], last);
}

// One of tiles side by side.
template <class T, int kRows, int kColumns, Right kRightPanel>
[[gnu::always_inline]] inline void multiply_tile(const PanelProduct<T>& of, const T* right, T* c) {
  using Vector = VectorOf<T>;
  Vector sum[kRows][kColumns];
  each<kRows>([&](auto r) __attribute__((always_inline)) {
    each<kColumns>([&](auto v) __attribute__((always_inline)) { sum[r][v] = Vector{}; });
  });
  const T* left = of.left;
  T* to = of.lay_right;
  const std::int64_t right_step = of.right_step, last = of.columns - (kColumns - 1) * kWidth<T>;
  const auto vector_of = [&](auto v) __attribute__((always_inline)) {
    const T* const from = right + v * kWidth<T>;
    if constexpr (kRightPanel != Right::Whole && v + 1 == kColumns)
      return load_some(from, last, T{});
    else
      return load(from);
  };
  const auto step = [&](int at) __attribute__((always_inline)) {
    Vector factor[kColumns];
    each<kColumns>([&](auto v) __attribute__((always_inline)) {
      factor[v] = vector_of(v);
      if constexpr (kRightPanel == Right::ByTheWay) store(to + v * kWidth<T>, factor[v]);
    });
    each<kRows>([&](auto r) __attribute__((always_inline)) {
      const T value = left[at * kLeft + r];
      each<kColumns>([&](auto v) __attribute__((always_inline)) { sum[r][v] += value * factor[v]; });
    });
    right += right_step;
    asm volatile("" : "+r"(right));
    if constexpr (kRightPanel == Right::ByTheWay) to += kColumns * kWidth<T>;
  };
  const auto steps_done = [&](int steps) __attribute__((always_inline)) {
    left += steps * kLeft;
    asm volatile("" : "+r"(left));
  };
  std::int64_t p = 0;
  for (; p + kDepthRun <= of.depth; p += kDepthRun, steps_done(kDepthRun)) {
#pragma GCC unroll 8
    for (int i = 0; i < kDepthRun; ++i) step(i);
  }
  for (; p < of.depth; ++p, steps_done(1)) step(0);
  each<kRows>([&](auto r) __attribute__((always_inline)) {
    if (r < of.rows) put(sum[r], last, of.accumulate, c + r * of.c_row);
  });
}

template <class T, int kRows, int kColumns, Right kRightPanel>
[[gnu::noinline]] void multiply_tiles(const PanelProduct<T>& of) {
  for (int i = 0; i < of.tiles; ++i)
    multiply_tile<T, kRows, kColumns, kRightPanel>(of, of.right + i * of.next_panel,
                                                   of.c + i * kColumns * kWidth<T>);
}

template <class T, int kRows, int kColumns>
void multiply_columns(const PanelProduct<T>& of) {
  if (of.lay_right != nullptr) return multiply_tiles<T, kRows, kColumns, Right::ByTheWay>(of);
  if (of.right_is_filled || of.columns == kColumns * kWidth<T>)
    return multiply_tiles<T, kRows, kColumns, Right::Whole>(of);
  multiply_tiles<T, kRows, kColumns, Right::Some>(of);
}
template <class T, int kRows>
void multiply_rows(const PanelProduct<T>& of) {
  static_assert(kVectors == 3);
  if (of.columns > 2 * kWidth<T>) return multiply_columns<T, kRows, 3>(of);
  if (of.columns > kWidth<T>) return multiply_columns<T, kRows, 2>(of);
  multiply_columns<T, kRows, 1>(of);
}
template <class T>
void multiply(const PanelProduct<T>& of) {
  of.rows > kLeft / 2 ? multiply_rows<T, kLeft>(of) : multiply_rows<T, kLeft / 2>(of);
}

template <class T>
constexpr PanelKernels<T> kKernelsOf{
    kLeft, kRight<T>, kWidth<T>, lay<T, kLeft, kLeft>, lay<T, kRight<T>, kWidth<T>>, multiply<T>};

#else

template <class T>
constexpr PanelKernels<T> kKernelsOf{};

#endif

constexpr PanelTable kTable{kKernelsOf<float>, kKernelsOf<double>};

}  // namespace

const PanelTable& panel_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
