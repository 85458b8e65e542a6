// Owns cutting the matrices inside a space into tiles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/cpu/walk.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// A part of one matrix, where its first element is in each operand, in elements.
struct Tile {
  std::array<std::int64_t, Space::kMost> place{};
  std::int64_t rows = 0, columns = 0;
};

// Matrices whose rows lie one after the other along the dimension `down` and whose columns do so along
// `across`, one for each place in the other dimensions before `across`.
class Tiling {
 public:
  Tiling(const Space& space, std::size_t down, std::size_t across, std::int64_t tile_rows,
         std::int64_t tile_columns)
      : operands_(space.operands()),
        tile_rows_(tile_rows),
        tile_columns_(tile_columns),
        rows_(space.sizes()[down]),
        columns_(space.sizes()[across]) {
    for (std::size_t d = 0; d < across; ++d) {
      if (d == down) continue;
      sizes_.push_back(space.sizes()[d]);
      matrices_ *= space.sizes()[d];
    }
    for (int k = 0; k < operands_; ++k) {
      Steps& steps = steps_[static_cast<std::size_t>(k)];
      for (std::size_t d = 0; d < across; ++d)
        if (d != down) steps.around.push_back(space.strides(k)[d]);
      steps.down = space.strides(k)[down];
      steps.across = space.strides(k)[across];
    }
  }

  // Calls f(tile) for each tile, on all threads. Tiles follow each other downwards.
  template <class F>
  void each(std::int64_t grain, const F& f) const {
    const std::int64_t down = ceil_divide(rows_, tile_rows_);
    const std::int64_t across = ceil_divide(columns_, tile_columns_);
    parallel_for(matrices_ * across * down, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        check_interrupt();
        f(tile(i / (across * down), i % down * tile_rows_, i / down % across * tile_columns_));
      }
    });
  }

  // In elements, from row to row and from column to column.
  std::int64_t down(int operand) const { return steps_[static_cast<std::size_t>(operand)].down; }
  std::int64_t across(int operand) const { return steps_[static_cast<std::size_t>(operand)].across; }

 private:
  struct Steps {
    IntDims around;  // of the dimensions around the matrices
    std::int64_t down = 0, across = 0;
  };

  Tile tile(std::int64_t matrix, std::int64_t row, std::int64_t column) const {
    Tile result{.rows = std::min(tile_rows_, rows_ - row),
                .columns = std::min(tile_columns_, columns_ - column)};
    for (int k = 0; k < operands_; ++k) {
      const Steps& steps = steps_[static_cast<std::size_t>(k)];
      std::int64_t place = row * steps.down + column * steps.across;
      std::int64_t rest = matrix;
      for (std::size_t d = sizes_.size(); d-- > 0; rest /= sizes_[d])
        place += rest % sizes_[d] * steps.around[d];
      result.place[static_cast<std::size_t>(k)] = place;
    }
    return result;
  }

  int operands_;
  std::int64_t tile_rows_, tile_columns_;
  std::int64_t rows_, columns_, matrices_ = 1;
  IntDims sizes_;
  std::array<Steps, Space::kMost> steps_;
};

}  // namespace kiln::cpu
