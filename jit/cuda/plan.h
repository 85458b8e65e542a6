// Owns the places of the elements of a kernel's operands on a card: computed once for layouts of the inputs
// and values of the symbols.
#pragma once

#include "jit/cuda/arguments.h"
#include "jit/cuda/gather.h"
#include "jit/cuda/tiles.h"
#include "jit/cuda/vectors.h"
#include "jit/loops/lower.h"
#include "jit/loops/places.h"

namespace kiln::jit {

struct CudaLoad {
  std::vector<Layout> laid_out;  // see ShownLayout
  Layout layout;                 // of its elements, before the last broadcast
  Dims broadcast;                // to which it is copied first; empty: it is read where it is
  cuda::DrawJob draw{};          // of random numbers: their distribution
  CudaGather gather{};
};

struct CudaPlan {
  struct Pass {
    std::vector<CudaLoad> loads;
    std::vector<StorePlaces> stores;
    ArgumentWords words;
    std::int64_t length;  // elements of a row; of a nest without reductions, all
    VectorPlan vectors;
    cuda::TileJob tiles;  // none: a launch does not go by them
  };
  Dims symbols;
  std::vector<Layout> inputs;
  std::int64_t rows = 1, length = 1;
  std::int64_t blocks = 1;                   // of a row
  std::int64_t sequences = 1, sequence = 1;  // of rows that are reduced down the columns, each to one
  std::vector<Pass> passes;

  bool has_elements() const { return rows > 0; }
};

CudaPlan plan_for_cuda(const Lowered& lowered, Inputs inputs, const Dims& symbols,
                       const SymbolValues& values);

}  // namespace kiln::jit
