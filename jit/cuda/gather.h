// Owns gather loads on cards: elements that an op reads from memory where indices say.
#pragma once

#include <array>
#include <vector>

#include "jit/loops/loops.h"
#include "jit/loops/places.h"
#include "tensor/op.h"

namespace kiln::jit {

// What an index is given as, in the places of numbers: the least value, the size and the step along its
// dimension.
inline constexpr std::size_t kIndexWords = 3;

// The indices of a gather load, as numbers of the op's operands.
std::vector<std::size_t> indices_of(const Load& load);

// For one choice of layouts and sizes.
struct CudaGather {
  struct Index {
    std::array<std::int64_t, kIndexWords> words{};
    IntDims strides;  // along the loop
  };
  Attrs attrs;
  std::vector<ShownLayout> operands;  // in memory; one that is left out has no layout
  IntDims strides;                    // of what is read, along the loop
  std::vector<Index> indices;         // as `indices_of` gives them
};
CudaGather plan_gather(const Load& load, Inputs inputs, const SymbolValues& values);

// The op's operands: views of the kernel's inputs. Indices are as they are now, whatever is written to them
// later.
Tensors gather_operands(const Load& load, const CudaGather& plan, Inputs inputs);
// Why the load refuses its indices, for which the host waits.
OpError refused_gather(const Op& op, const Attrs& attrs, Inputs operands);

}  // namespace kiln::jit
