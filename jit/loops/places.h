// Owns the places of a nest's elements in memory, before a processor has its say: index maps become layouts,
// and stores that replace part of a tensor become strides and the copies around them.
#pragma once

#include <span>
#include <vector>

#include "jit/loops/loops.h"

namespace kiln::jit {

Layout contiguous(Dims sizes);

// The layout of a load's elements before the last broadcast.
struct ShownLayout {
  // Layouts to copy to first, each from the one before, since the views behind them cannot be strides.
  std::vector<Layout> laid_out;
  Layout layout;
};
ShownLayout layout_of(const Load& load, Layout layout, const SymbolValues& values);
// The places of a store's elements in its output, which is contiguous.
struct StorePlaces {
  // Elements of an output that are copied from an input before the kernel runs.
  struct Copy {
    int input = -1;
    Layout from;
    Layout to;
  };
  Dims sizes;  // of the output
  std::int64_t offset = 0;
  IntDims strides;  // along the axes of the nest
  std::vector<Copy> around;
};
// `sizes` are those of the nest.
StorePlaces places_of(const Store& store, const Dims& sizes, std::span<const Layout> inputs,
                      const SymbolValues& values);

}  // namespace kiln::jit
