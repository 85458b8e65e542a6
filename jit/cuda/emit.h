// Owns printing loop nests as CUDA C++.
#pragma once

#include <span>
#include <string>

#include "jit/loops/schedule.h"

namespace kiln::jit {

// A program with a kernel for each nest, `kernel_symbol` by name, and of the arguments that
// jit/cuda/arguments.h fills in. With `marks` each statement is preceded by the line of the nest it belongs
// to (jit/passes/target.h).
std::string cuda_text(std::span<const ScheduledNest> nests, bool marks);

// What elements of a dtype are there, and what combines them.
const char* cuda_element(DType dtype);
const char* cuda_combine(cpu::Combine combine);

// The number of operands with axes: loads and stores, and one that is not used where there are none.
std::size_t operands_of(const LoopNest& nest);
// The number of results of reductions that the nest may read: they follow its own in the arguments.
std::size_t slots_of(const LoopNest& nest);

// The number of numbers: sizes, and then the words of draws. Where those of a drawn load begin.
std::size_t numbers_of(const LoopNest& nest);
std::size_t first_word_of_draw(const LoopNest& nest, std::size_t load);

// The words of a nest's arguments, and how many a launch takes (4 KiB).
std::size_t argument_words(const LoopNest& nest);
inline constexpr std::size_t kMostArgumentWords = 500;

}  // namespace kiln::jit
