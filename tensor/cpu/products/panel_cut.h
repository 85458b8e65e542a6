// Owns how products of matrices are cut: lines into panels, the depth into parts, and all of it into tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tensor/cpu/products/panel_kernels.h"
#include "tensor/integers.h"
#include "tensor/product_order.h"

namespace kiln::cpu::panels {

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  // Part i of so many, as even as can be.
  Range part(std::int64_t i, std::int64_t parts) const {
    return {begin + size() * i / parts, begin + size() * (i + 1) / parts};
  }
};

// The depth in parts, of whole runs but for the last.
struct Depth {
  std::int64_t steps, parts;

  Depth(std::int64_t k, std::int64_t count) : steps(k), parts(count) {}
  Range part(std::int64_t i) const {
    return {begin_of_part(steps, parts, i), begin_of_part(steps, parts, i + 1)};
  }
  std::int64_t longest() const {
    return std::min(steps, ceil_divide(ceil_divide(steps, kDepthRun), parts) * kDepthRun);
  }
};

// The lines of one operand in panels.
struct Side {
  std::int64_t lines;
  int width;
  std::int64_t panels;
  int last;    // lines of the last panel
  int filled;  // likewise with the zeros it is filled up with when it is laid out

  Side(std::int64_t count, int panel, int fill)
      : lines(count),
        width(panel),
        panels(ceil_divide(count, panel)),
        last(static_cast<int>(count - (panels - 1) * panel)),
        filled(ceil_divide(last, fill) * fill) {}
  Range all() const { return {0, panels}; }
  int count(std::int64_t panel) const { return panel + 1 < panels ? width : last; }
  // Elements from one step to the next of a panel that is laid out.
  int step(std::int64_t panel) const { return panel + 1 < panels ? width : filled; }
  // The first of these panels that is not whole, or their end.
  std::int64_t end_of_whole(Range some) const { return some.end - (count(some.end - 1) < width ? 1 : 0); }
  Range lines_of(Range some) const { return {some.begin * width, std::min(some.end * width, lines)}; }
};

// Tasks: a block of rows by a group of columns each.
struct Grid {
  std::int64_t blocks, groups;
  std::int64_t tasks() const { return blocks * groups; }
};

// The grid whose slowest thread has least to do, by what tasks multiply and lay out. For each step of the
// depth, laying out a row or a column takes as long as so many multiply-adds.
inline Grid cut_for_threads(const Side& left, const Side& right, std::int64_t row, std::int64_t column,
                            std::int64_t least_blocks, std::int64_t threads) {
  constexpr std::int64_t kLeastRounds = 2, kMostRounds = 4;  // of tasks, for each thread
  constexpr std::int64_t kUneven = 10;  // one in so many rounds is lost when threads are not equally fast
  Grid best{least_blocks, 1};
  std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t rounds = kMostRounds; rounds >= kLeastRounds; --rounds) {
    const std::int64_t wanted = rounds * threads,
                       most = std::min(left.panels, std::max(least_blocks, wanted));
    for (std::int64_t blocks = least_blocks; blocks <= most; ++blocks) {
      const std::int64_t groups = std::clamp<std::int64_t>(ceil_divide(wanted, blocks), 1, right.panels);
      const std::int64_t rows = ceil_divide(left.panels, blocks) * left.width;
      const std::int64_t columns = ceil_divide(right.panels, groups) * right.width;
      const std::int64_t time =
          ceil_divide(blocks * groups, threads) * (rows * columns + rows * row + columns * column);
      const std::int64_t cost = time + time / (kUneven * rounds);
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = {blocks, groups};
    }
  }
  return best;
}

}  // namespace kiln::cpu::panels
