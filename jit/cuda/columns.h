// Owns reductions down the columns on cards: which passes over rows are for them, and how threads share them.
#pragma once

#include <span>
#include <vector>

#include "jit/loops/loops.h"
#include "tensor/cuda/kernels/column_job.h"

namespace kiln::jit {

// Passes over rows, where each either goes along them or down the columns: those that do both become two.
// All that go along rows come first, unless a value that they keep would be replaced before columns read it.
std::vector<LoopNest> split_by_way(std::span<const LoopNest> passes);

inline bool goes_down(const LoopNest& nest) { return !nest.columns.empty(); }
// Does it read what passes before have reduced of rows?
bool reads_slots(const LoopNest& nest);

// Rows of `length` elements, `sequence` after `sequence`. There should be a block of threads for each
// multiprocessor at least.
cuda::ColumnJob column_job(std::int64_t sequences, std::int64_t sequence, std::int64_t length,
                           std::int64_t multiprocessors);

}  // namespace kiln::jit
