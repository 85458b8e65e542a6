// Owns where what a launch of a nest is given lies among its arguments (jit/cuda/arguments.h).
#pragma once

#include <cstddef>
#include <vector>

#include "jit/loops/loops.h"

namespace kiln::jit {

// The number of operands with axes: loads, stores, then the indices of gather loads; and one that is not used
// where there are none.
std::size_t operands_of(const LoopNest& nest);
// Where the indices of a gather load begin among them.
std::size_t first_index_of(const LoopNest& nest, std::size_t load);
// The number of results of reductions along rows that the nest may read, and where they begin: they follow
// its own results, of rows or of columns, which follow the operands.
std::size_t slots_of(const LoopNest& nest);
std::size_t first_slot_of(const LoopNest& nest);
// The number of all of these results.
std::size_t results_of(const LoopNest& nest);
// The number of numbers: sizes, and then the words of draws and gather loads. Where those of such a load
// begin.
std::size_t numbers_of(const LoopNest& nest);
std::size_t first_word_of(const LoopNest& nest, std::size_t load);

// The instructions that may refuse an element, in order: a launch tells the number of the first of these.
std::vector<std::size_t> refusing(const LoopNest& nest);

// The words of a nest's arguments, and how many a launch takes (4 KiB).
std::size_t argument_words(const LoopNest& nest);
inline constexpr std::size_t kMostArgumentWords = 500;

}  // namespace kiln::jit
