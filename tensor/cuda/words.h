// Owns how elements that stay as they are move on cards: as words, of their size or of that of several
// neighbours.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cuda/axes.h"

namespace kiln::cuda {

// Makes a walk in elements of `item` bytes one in words, the widest that it can be walked in, and gives their
// bytes. The first `moved` operands are what moves, and stay where they are along the others; `steps` are
// further distances in elements, and become ones in words too. `addresses`: all of them, by or.
std::int64_t count_by_words(WalkAxes& walk, std::size_t moved, std::int64_t item,
                            std::span<std::int64_t> steps, std::uintptr_t addresses);

// What the text of kernels calls a word of so many bytes.
const char* word_name(std::int64_t bytes);

}  // namespace kiln::cuda
