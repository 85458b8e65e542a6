// Owns how blocks of rows of a result are handed out as soon as they are there.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tensor/parallel.h"

namespace kiln::cpu {

// Blocks of rows that are made of pieces side by side, by whichever threads.
class RowBlocks {
 public:
  // `done`, which may be null, is called with each block's elements by the thread that makes its last piece.
  RowBlocks(std::int64_t blocks, std::int64_t pieces, const RangeFn* done) : done_(done) {
    if (done_ == nullptr) return;
    open_ = std::vector<std::atomic<std::int64_t>>(static_cast<std::size_t>(blocks));
    for (auto& each : open_) each.store(pieces, std::memory_order_relaxed);
  }
  // One more piece of a block, whose elements are [begin, end), is there.
  void piece(std::int64_t block, std::int64_t begin, std::int64_t end) {
    if (done_ == nullptr) return;
    if (open_[static_cast<std::size_t>(block)].fetch_sub(1, std::memory_order_acq_rel) == 1)
      (*done_)(begin, end);
  }

 private:
  const RangeFn* done_;
  std::vector<std::atomic<std::int64_t>> open_;  // pieces to come
};

}  // namespace kiln::cpu
