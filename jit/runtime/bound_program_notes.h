// Owns what is noted of a call that is to be replayed, before it is decided where its values lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/runtime/program.h"

namespace kiln::jit {

inline constexpr std::size_t kNoBoundValue = ~std::size_t{0};

// Where a value lies: as an argument, what is prebuilt, or for each call anew; as its own part of a bound's
// memory; or in that of another value.
enum class StoredAt : std::uint8_t { InputTensor, NewResult, Kept, Bound };

struct BoundValue {
  Tensor tensor;                       // without elements, unless it arrives
  std::size_t root;                    // whose memory it lies in: itself, unless a view
  std::size_t joined = kNoBoundValue;  // of a root: what it is a part of from the start, and where there
  std::ptrdiff_t shift = 0;            // in bytes
  StoredAt home = StoredAt::Kept;
  bool as_tensor = false;    // some op or the caller is specialization it as a tensor
  std::size_t last_use = 0;  // of the memory of a root
  bool is_given_back = false;
  Source source{};                     // of what arrives
  std::size_t over = kNoBoundValue;    // of a result: the operand that it may be written over
  std::size_t number = kNoBoundValue;  // as a tensor of the bound
  std::size_t memory = kNoBoundValue;
};

// Alias, Join: there is nothing to do, of what lies in another's memory and of what others lie in.
enum class BoundKind : std::uint8_t { Alias, Kernel, Product, Copy, Into, Join, View, Bind };

struct BoundNote {
  const Program::Instruction* instruction;
  std::vector<std::size_t> operands, results;  // values
  BoundKind how = BoundKind::Bind;
};

// Products of vectors and one matrix become one note, with operands x0, matrix, x1, x2, … and as many
// results, so that the matrix is read once. They are made where the first of them was: of the others the
// vectors are there when the call begins. Of the notes before `end`; how many fewer of these there are now.
// No argument is written by the call.
std::size_t share_matrices(std::vector<BoundNote>& notes, const std::vector<BoundValue>& values,
                           std::size_t end);

}  // namespace kiln::jit
