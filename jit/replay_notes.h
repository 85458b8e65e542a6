// Owns what is noted of a call that is to be replayed, before it is decided where its values lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/plan.h"

namespace kiln::jit {

inline constexpr std::size_t kNoReplayValue = ~std::size_t{0};

// Where a value lies: as an argument, what is prebuilt, or for each call anew; as its own part of a replay's
// memory; or in that of another value.
enum class ReplayHome : std::uint8_t { Arriving, Fresh, Kept, Bound };

struct ReplayValue {
  Tensor tensor;                        // without elements, unless it arrives
  std::size_t root;                     // whose memory it lies in: itself, unless a view
  std::size_t joined = kNoReplayValue;  // of a root: what it is a part of from the start, and where there
  std::ptrdiff_t shift = 0;             // in bytes
  ReplayHome home = ReplayHome::Kept;
  bool as_tensor = false;    // some op or the caller is given it as a tensor
  std::size_t last_use = 0;  // of the memory of a root
  bool is_given_back = false;
  Source source{};                      // of what arrives
  std::size_t over = kNoReplayValue;    // of a result: the operand that it may be written over
  std::size_t number = kNoReplayValue;  // as a tensor of the replay
  std::size_t memory = kNoReplayValue;
};

// Alias, Join: there is nothing to do, of what lies in another's memory and of what others lie in.
enum class ReplayHow : std::uint8_t { Alias, Kernel, Product, Copy, Into, Join, View, Bind };

struct ReplayNote {
  const Step* step;
  std::vector<std::size_t> operands, results;  // values
  ReplayHow how = ReplayHow::Bind;
};

// Products of vectors and one matrix become one note, with operands x0, matrix, x1, x2, … and as many
// results, so that the matrix is read once. They are made where the first of them was: of the others the
// vectors are there when the call begins. Of the notes before `end`; how many fewer of these there are now.
// No argument is written by the call.
std::size_t share_matrices(std::vector<ReplayNote>& notes, const std::vector<ReplayValue>& values,
                           std::size_t end);

}  // namespace kiln::jit
