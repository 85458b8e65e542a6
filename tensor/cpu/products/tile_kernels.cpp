// Compiled for processors that have tiles (AMX) with bf16, or AVX-512 with it; called on those alone.
// Includes nothing whose inline functions others might be linked to.
#include "tensor/cpu/products/tile_kernels.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

namespace kiln::cpu::tiles {
namespace {

using Vector = __m512i;

// ---- Laying out -------------------------------------------------------------------------------------------

// The rows of a tile, all of one part.
using Rows = Vector[kSide];

// What bits of each element's parts are kept beside what tells whether tiles can multiply it.
struct SplitElements {
  Vector part[2];
  __mmask32 refused;
};
[[gnu::always_inline]] inline SplitElements take(const BFloat16*, Vector x) {
  const Vector magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
  // Numbers below the normal range are those from 1 to the largest fraction; 0 comes last so.
  const Vector before = _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1));
  return {{x, x}, _mm512_cmplt_epu16_mask(before, _mm512_set1_epi16(0x7f))};
}
// The upper 8 of the 11 bits of a number, and the rest: both are normal numbers of bf16, or 0.
[[gnu::always_inline]] inline SplitElements take(const Half*, Vector x) {
  const Vector magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
  const __mmask32 refused = _mm512_cmpge_epu16_mask(magnitude, _mm512_set1_epi16(0x7c00));
  const __m512 wide[] = {_mm512_cvtph_ps(_mm512_castsi512_si256(x)),
                         _mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1))};
  Vector upper[2], rest[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    upper[i] =
        _mm512_and_si512(_mm512_castps_si512(wide[i]), _mm512_set1_epi32(static_cast<int>(0xffff0000U)));
    rest[i] = _mm512_castps_si512(_mm512_sub_ps(wide[i], _mm512_castsi512_ps(upper[i])));
  }
  const Vector odd = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
                                      27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return {
      {_mm512_permutex2var_epi16(upper[0], odd, upper[1]), _mm512_permutex2var_epi16(rest[0], odd, rest[1])},
      refused};
}

// 16 by 16 elements of 32 bits: neighbours first within lanes of 128 bits, then the lanes.
[[gnu::always_inline]] inline void transpose(Rows& rows) {
  Rows next;
#pragma GCC unroll 8
  for (int i = 0; i < kSide; i += 2) {
    next[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    next[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kSide; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(next[i], next[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(next[i], next[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(next[i + 1], next[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(next[i + 1], next[i + 3]);
  }
  constexpr int kEven = 0x88, kOdd = 0xdd;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vector even_above = _mm512_shuffle_i32x4(rows[i], rows[4 + i], kEven);
    const Vector odd_above = _mm512_shuffle_i32x4(rows[i], rows[4 + i], kOdd);
    const Vector even_below = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], kEven);
    const Vector odd_below = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], kOdd);
    next[i] = _mm512_shuffle_i32x4(even_above, even_below, kEven);
    next[4 + i] = _mm512_shuffle_i32x4(odd_above, odd_below, kEven);
    next[8 + i] = _mm512_shuffle_i32x4(even_above, even_below, kOdd);
    next[12 + i] = _mm512_shuffle_i32x4(odd_above, odd_below, kOdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) rows[i] = next[i];
}

constexpr std::uint32_t first_bits(std::int64_t count, int most) {
  return count >= most ? static_cast<std::uint32_t>((std::uint64_t{1} << static_cast<unsigned>(most)) - 1)
                       : (1U << static_cast<unsigned>(count)) - 1;
}

// Picks of two rows the first 16 elements, those of one place side by side.
[[gnu::always_inline]] inline Vector low_pairs() {
  return _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5,
                          36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
}

// One tile's worth of elements. By line: row i has those of line i. Else: row i has, of the pair of depths 2
// i and 2 i + 1, the elements of all lines, each pair side by side.
template <bool kByLine, class T>
[[gnu::always_inline]] inline void read(const Lines<T>& lines, std::int64_t depth, Rows& rows) {
  if constexpr (kByLine) {
    const __mmask32 there = first_bits(depth, kTileDepth);
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i)
      rows[i] = _mm512_maskz_loadu_epi16(i < lines.count ? there : 0,
                                         lines.data + (i < lines.count ? i * lines.line : 0));
  } else {
    const __mmask16 there = static_cast<__mmask16>(first_bits(lines.count, kSide));
    const Vector pairs = low_pairs();
    const auto row = [&](int p) __attribute__((always_inline)) {
      return _mm512_castsi256_si512(
          _mm256_maskz_loadu_epi16(p < depth ? there : 0, lines.data + (p < depth ? p * lines.step : 0)));
    };
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = _mm512_permutex2var_epi16(row(2 * i), pairs, row(2 * i + 1));
  }
}

// Rows of tiles of the left matrix are lines; those of the right one pairs of depths.
template <bool kByLine, bool kLeft, class T>
bool lay(const Lines<T>& lines, std::int64_t depth, BFloat16* to) {
  const int tiles = lines.tiles();
  __mmask32 refused = 0;
  for (std::int64_t p = 0; p < depth; p += kTileDepth) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int first = tile * kSide;
      const Lines<T> some{lines.data + first * lines.line + p * lines.step, lines.line, lines.step,
                          lines.count - first};
      Rows rows, part[kParts<T>];
      read<kByLine>(some, depth - p, rows);
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) {
        const SplitElements taken = take(lines.data, rows[i]);
        refused = static_cast<__mmask32>(refused | taken.refused);
#pragma GCC unroll 2
        for (int each = 0; each < kParts<T>; ++each) part[each][i] = taken.part[each];
      }
#pragma GCC unroll 2
      for (int each = 0; each < kParts<T>; ++each) {
        if constexpr (kByLine != kLeft) transpose(part[each]);
        BFloat16* const at = to + (each * tiles + tile) * kTileElements;
#pragma GCC unroll 16
        for (int i = 0; i < kSide; ++i) _mm512_storeu_si512(at + i * kTileDepth, part[each][i]);
      }
    }
    to += kParts<T> * tiles * kTileElements;
  }
  return refused == 0;
}

// The right matrix by rows of up to 32 columns, each of which is one line of memory: no row is read twice, as
// rows a power of two apart push each other out of the first cache. The next rows are asked for.
template <class T>
bool lay_rows(const Lines<T>& columns, std::int64_t depth, BFloat16* to) {
  const int tiles = columns.tiles();
  const __mmask32 there = first_bits(columns.count, kPanel);
  const Vector low = low_pairs();
  const Vector high = _mm512_add_epi16(low, _mm512_set1_epi16(kSide));
  __mmask32 refused = 0;
  for (std::int64_t p = 0; p < depth; p += kTileDepth) {
    const T* row = columns.data + p * columns.step;
    for (int i = 0; i < kSide; ++i, row += 2 * columns.step) {
      const std::int64_t left = depth - p - 2 * i;
      if (left > kTileDepth) {
        _mm_prefetch(row + kTileDepth * columns.step, _MM_HINT_T0);
        _mm_prefetch(row + (kTileDepth + 1) * columns.step, _MM_HINT_T0);
      }
      const Vector even = left > 0 ? _mm512_maskz_loadu_epi16(there, row) : _mm512_setzero_si512();
      const Vector odd =
          left > 1 ? _mm512_maskz_loadu_epi16(there, row + columns.step) : _mm512_setzero_si512();
#pragma GCC unroll 2
      for (int tile = 0; tile < 2; ++tile) {
        if (tile == tiles) break;
        const SplitElements taken = take(row, _mm512_permutex2var_epi16(even, tile == 0 ? low : high, odd));
        refused = static_cast<__mmask32>(refused | taken.refused);
#pragma GCC unroll 2
        for (int each = 0; each < kParts<T>; ++each)
          _mm512_storeu_si512(to + (each * tiles + tile) * kTileElements + i * kTileDepth, taken.part[each]);
      }
    }
    to += kParts<T> * tiles * kTileElements;
  }
  return refused == 0;
}

template <class T>
bool lay_left_lines(const Lines<T>& lines, std::int64_t depth, BFloat16* to) {
  return lines.step == 1 ? lay<true, true>(lines, depth, to) : lay<false, true>(lines, depth, to);
}
template <class T>
bool lay_right_lines(const Lines<T>& lines, std::int64_t depth, BFloat16* to) {
  return lines.step == 1 ? lay<true, false>(lines, depth, to) : lay_rows(lines, depth, to);
}

// ---- Multiplying ------------------------------------------------------------------------------------------

constexpr std::int64_t kTileRow = 64;  // bytes

// Sums are in tiles 0 to 3, in rows of kColumns; of the left there are tiles 4 and 5, of the right 6 and 7.
template <int kRows, int kColumns>
[[gnu::always_inline]] inline void multiply_tiles(const BFloat16* left, const BFloat16* right) {
  _tile_loadd(4, left, kTileRow);
  _tile_loadd(6, right, kTileRow);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kColumns == 2) {
    _tile_loadd(7, right + kTileElements, kTileRow);
    _tile_dpbf16ps(1, 4, 7);
  }
  if constexpr (kRows == 2) {
    _tile_loadd(5, left + kTileElements, kTileRow);
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (kColumns == 2) _tile_dpbf16ps(3, 5, 7);
  }
}

template <int kParts, int kRows, int kColumns>
void multiply(const PanelProduct& of) {
  constexpr std::int64_t kSumsRow = kPanel * sizeof(float);
  float* const below = of.sums + kSide * kPanel;
  if (of.accumulate) {
    _tile_loadd(0, of.sums, kSumsRow);
    if constexpr (kColumns == 2) _tile_loadd(1, of.sums + kSide, kSumsRow);
    if constexpr (kRows == 2) _tile_loadd(2, below, kSumsRow);
    if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, below + kSide, kSumsRow);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  constexpr int kLeft = kRows * kTileElements, kRight = kColumns * kTileElements;
  const BFloat16 *left = of.left, *right = of.right;
  const char* next = reinterpret_cast<const char*>(of.next);
  for (std::int64_t step = 0; step < of.steps; ++step) {
    for (int line = 0; line < of.next_bytes; line += 64, next += 64) _mm_prefetch(next, _MM_HINT_T1);
    for (int a = 0; a < kParts; ++a, left += kLeft)
      for (int b = 0; b < kParts; ++b) multiply_tiles<kRows, kColumns>(left, right + b * kRight);
    right += kParts * kRight;
  }
  _tile_stored(0, of.sums, kSumsRow);
  if constexpr (kColumns == 2) _tile_stored(1, of.sums + kSide, kSumsRow);
  if constexpr (kRows == 2) _tile_stored(2, below, kSumsRow);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, below + kSide, kSumsRow);
}

template <int kParts>
void multiply_panels(const PanelProduct& of) {
  if (of.left_tiles == 2)
    of.right_tiles == 2 ? multiply<kParts, 2, 2>(of) : multiply<kParts, 2, 1>(of);
  else
    of.right_tiles == 2 ? multiply<kParts, 1, 2>(of) : multiply<kParts, 1, 1>(of);
}

// ---- Rounding ---------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline __m256i rounded(__m512 x, BFloat16*) {
  return std::bit_cast<__m256i>(_mm512_cvtneps_pbh(x));
}
[[gnu::always_inline]] inline __m256i rounded(__m512 x, Half*) {
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}
// The first `count` of them, or all.
template <class T>
[[gnu::always_inline]] inline void store_rounded(__m512 x, int count, T* to) {
  const __m256i halves = rounded(x, to);
  if (count >= kSide) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(first_bits(count, kSide)), halves);
}
template <class T>
void round_rows(const float* sums, int rows, int columns, T* to, std::int64_t to_row) {
  for (int i = 0; i < rows; ++i, sums += kPanel, to += to_row) {
    for (int j = 0; j < columns; j += kSide) store_rounded(_mm512_loadu_ps(sums + j), columns - j, to + j);
  }
}

// ---- By vectors -------------------------------------------------------------------------------------------

constexpr int kMostRows = 12, kSomeRows = 8, kFewRows = 4;    // at once
constexpr int kPairs = kTileDepth / 2, kPairRow = 2 * kSide;  // of a tile; elements of a row of pairs

// Rows from `first` on, by kColumns tiles: their sums stay in registers.
template <int kRows, int kColumns>
void multiply_rows(const PanelProduct& of, int first, int next_bytes) {
  __m512 sums[kRows][kColumns];
  float* const to = of.sums + first * kPanel;
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c)
      sums[r][c] = of.accumulate ? _mm512_loadu_ps(to + r * kPanel + c * kSide) : _mm512_setzero_ps();
  BFloat16* result = of.to == nullptr ? nullptr : of.to + first * of.to_row;
  if (result != nullptr) {  // its lines are asked for: they take longer than the sums of a short depth
    const int some = of.rows - first < kRows ? of.rows - first : kRows;
    for (int r = 0; r < some; ++r) __builtin_prefetch(result + r * of.to_row, 1);
  }
  // Rows of two tiles follow one another, too.
  const BFloat16 *left = of.left + first * kTileDepth, *right = of.right;
  const char* next = reinterpret_cast<const char*>(of.next);
  for (std::int64_t pairs = (of.depth + 1) / 2; pairs > 0; pairs -= kPairs) {
    for (int line = 0; line < next_bytes; line += 64, next += 64) _mm_prefetch(next, _MM_HINT_T1);
    const std::int64_t some = pairs < kPairs ? pairs : kPairs;
    for (std::int64_t p = 0; p < some; ++p) {
      Vector columns[kColumns];
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c)
        columns[c] = _mm512_loadu_si512(right + c * kTileElements + p * kPairRow);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
        std::uint32_t pair;
        __builtin_memcpy(&pair, left + r * kTileDepth + 2 * p, sizeof pair);
        const Vector row = _mm512_set1_epi32(static_cast<int>(pair));
#pragma GCC unroll 2
        for (int c = 0; c < kColumns; ++c)
          sums[r][c] =
              _mm512_dpbf16_ps(sums[r][c], std::bit_cast<__m512bh>(row), std::bit_cast<__m512bh>(columns[c]));
      }
    }
    left += of.left_tiles * kTileElements;
    right += of.right_tiles * kTileElements;
  }
  if (result == nullptr) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c) _mm512_storeu_ps(to + r * kPanel + c * kSide, sums[r][c]);
    return;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r, result += of.to_row) {
    if (first + r == of.rows) return;
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) store_rounded(sums[r][c], of.columns - c * kSide, result + c * kSide);
  }
}

template <int kRows>
void multiply_rows(const PanelProduct& of, int first) {
  const int next_bytes = first == 0 ? of.next_bytes : 0;
  of.right_tiles == 2 ? multiply_rows<kRows, 2>(of, first, next_bytes)
                      : multiply_rows<kRows, 1>(of, first, next_bytes);
}

// ---- The processor's and the system's leave ---------------------------------------------------------------

Unit ask() {
  constexpr unsigned kTiles = 1U << 24U, kOfBf16 = 1U << 22U;  // of leaf 7, in edx
  constexpr unsigned kVectorsOfBf16 = 1U << 5U;                // of its second page, in eax
  constexpr unsigned long long kState = 3ULL << 17U;           // the system keeps tiles, in XCR0
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // of arch_prctl
  if (__builtin_cpu_supports("x86-64-v4") == 0) return Unit::None;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kVectorsOfBf16) == 0) return Unit::None;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return Unit::None;
  const bool has_tiles = (edx & kTiles) != 0 && (edx & kOfBf16) != 0 && (_xgetbv(0) & kState) == kState;
  return has_tiles && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? Unit::Tiles
                                                                                  : Unit::Vectors;
}

struct alignas(64) Shapes {
  std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

bool lay_left(const Lines<BFloat16>& lines, std::int64_t depth, BFloat16* to) {
  return lay_left_lines(lines, depth, to);
}
bool lay_left(const Lines<Half>& lines, std::int64_t depth, BFloat16* to) {
  return lay_left_lines(lines, depth, to);
}
bool lay_right(const Lines<BFloat16>& lines, std::int64_t depth, BFloat16* to) {
  return lay_right_lines(lines, depth, to);
}
bool lay_right(const Lines<Half>& lines, std::int64_t depth, BFloat16* to) {
  return lay_right_lines(lines, depth, to);
}

void multiply_whole(const PanelProduct& product) { multiply_panels<1>(product); }
void multiply_halves(const PanelProduct& product) { multiply_panels<2>(product); }
void multiply_by_vectors(const PanelProduct& product) {
  for (int first = 0; first < product.rows;) {
    const int left = product.rows - first;
    const int some = left > kSomeRows ? kMostRows : left > kFewRows ? kSomeRows : kFewRows;
    const auto multiply = some == kMostRows   ? &multiply_rows<kMostRows>
                          : some == kSomeRows ? &multiply_rows<kSomeRows>
                                              : &multiply_rows<kFewRows>;
    multiply(product, first);
    first += some;
  }
}

void round_sums(const float* sums, int rows, int columns, BFloat16* to, std::int64_t to_row) {
  round_rows(sums, rows, columns, to, to_row);
}
void round_sums(const float* sums, int rows, int columns, Half* to, std::int64_t to_row) {
  round_rows(sums, rows, columns, to, to_row);
}

Unit unit() {
  static const Unit best = ask();
  return best;
}

TilesInUse::TilesInUse() {
  static constexpr Shapes kShapes;
  if (unit() == Unit::Tiles) _tile_loadconfig(&kShapes);
}
TilesInUse::~TilesInUse() {
  if (unit() == Unit::Tiles) _tile_release();
}

}  // namespace kiln::cpu::tiles
