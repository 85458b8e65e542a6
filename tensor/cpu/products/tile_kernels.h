// Owns the form of the kernels that multiply halves on the processor's tiles (AMX), or by its vectors of
// pairs of bf16 (AVX512_BF16), and of what they multiply.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/integers.h"

namespace kiln::cpu::tiles {

// A tile is 16 rows of 64 bytes: of the left matrix 16 rows by 32 elements, of the right 16 pairs of rows by
// 16 columns, of the result 16 by 16 sums in f32. Registers hold two tiles by two of the result.
inline constexpr int kSide = 16, kTileDepth = 32;
inline constexpr int kPanel = 2 * kSide;  // lines of an operand that are laid out together
inline constexpr int kTileElements = kSide * kTileDepth;

// Tiles hold bf16. An f16 is the sum of two of those, exactly: products of f16 are four of bf16.
template <class T>
inline constexpr int kParts = 1;
template <>
inline constexpr int kParts<Half> = 2;

// Up to kPanel lines of an operand: rows of the left matrix, columns of the right one. Element p of line i is
// at data[i * line + p * step], and one of the two strides is 1.
template <class T>
struct Lines {
  const T* data;
  std::int64_t line, step;
  int count;

  constexpr int tiles() const { return ceil_divide(count, kSide); }
};
constexpr std::int64_t tile_steps(std::int64_t depth) { return ceil_divide(depth, kTileDepth); }

// Lays lines of so many elements out, filled up with zeros: one step of depth after the other, of each the
// tiles of every part. False, with anything laid out, when there is an element whose products tiles do not
// give: a bf16 below the normal range, which they take for 0, or an f16 that is no finite number.
bool lay_left(const Lines<BFloat16>& lines, std::int64_t depth, BFloat16* to);
bool lay_left(const Lines<Half>& lines, std::int64_t depth, BFloat16* to);
bool lay_right(const Lines<BFloat16>& lines, std::int64_t depth, BFloat16* to);
bool lay_right(const Lines<Half>& lines, std::int64_t depth, BFloat16* to);

// Of panels that are laid out, so many tiles of each wide and `steps` deep.
struct PanelProduct {
  const BFloat16 *left, *right;
  int left_tiles, right_tiles;
  std::int64_t steps;
  float* sums;           // whole tiles, rows kPanel apart
  bool accumulate;       // onto what is there
  const BFloat16* next;  // what will be multiplied soon: so many bytes are asked for at each step
  int next_bytes;
  // For vectors: how much of it is not what panels are filled up with, and where sums are rounded to, as by
  // round_sums. Null: they are kept.
  int rows = 0, columns = 0;
  std::int64_t depth = 0;
  BFloat16* to = nullptr;
  std::int64_t to_row = 0;
};

// On a thread that has `TilesInUse`.
void multiply_whole(const PanelProduct& product);   // operands of one part
void multiply_halves(const PanelProduct& product);  // of two
// Operands of one part without tiles, by vectors.
void multiply_by_vectors(const PanelProduct& product);

// Rounds such sums to elements of a result, rows `to_row` apart. What is below f32's normal range becomes 0,
// as tiles make it anyway.
void round_sums(const float* sums, int rows, int columns, BFloat16* to, std::int64_t to_row);
void round_sums(const float* sums, int rows, int columns, Half* to, std::int64_t to_row);

// What the processor multiplies pairs of bf16 with, as far as the system lets us use it. Asks once. Vectors
// are there where tiles are.
enum class Unit : std::uint8_t { None, Vectors, Tiles };
Unit unit();

// Sets the tiles up for this thread, where there are any, and gives them back: a thread without costs less to
// switch.
class TilesInUse {
 public:
  TilesInUse();
  ~TilesInUse();
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

}  // namespace kiln::cpu::tiles
