// Owns what is noted of a call that is to be bound, before it is known at which addresses its values lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/runtime/program.h"

namespace kiln::jit {

inline constexpr std::size_t kNoBoundValue = ~std::size_t{0};

// Where a value lies: as an argument, or what is prebuilt; as a tensor that an instruction makes, or as the
// caller is to have it, new in each call; in memory that the bound program keeps; or in that of another
// value.
enum class StoredAt : std::uint8_t { Arriving, Made, NewResult, Kept, Within };

struct BoundValue {
  Tensor tensor;                       // without elements, unless it arrives
  std::size_t root = kNoBoundValue;    // in whose memory it has its place: itself, unless a view
  std::size_t joined = kNoBoundValue;  // of a root: what it is a part of from the start, and where there
  std::ptrdiff_t shift = 0;            // in bytes
  StoredAt home = StoredAt::Kept;
  bool as_tensor = false;            // some op or the caller is given it as a tensor
  std::size_t over = kNoBoundValue;  // of a result: the operand that it may be written over
  std::size_t memory = kNoBoundValue;
  bool is_placed = false;  // memory was made for it, or is made in each call
  bool is_free = false;    // its memory was given to others since
};

// Alias, Join: there is nothing to do, of what lies in another's memory and of what others lie in.
enum class BoundKind : std::uint8_t { Alias, Kernel, Product, Copy, Into, Join, View, ByTensors };

struct BoundNote {
  const Program::Instruction* instruction;
  std::vector<std::size_t> operands, results;  // values
  BoundKind how = BoundKind::ByTensors;
  bool is_shared = false;  // a product that an earlier one makes, too
};

// Products of vectors and one matrix become one, the first of them, with operands x0, matrix, x1, x2, … and
// as many results, so that the matrix is read once. The vectors of the others arrive with the call, or are
// `early` views of what does. Of the notes before `end`.
void share_matrices(std::vector<BoundNote>& notes, const std::vector<BoundValue>& values,
                    const std::vector<bool>& early, std::size_t end);

}  // namespace kiln::jit
