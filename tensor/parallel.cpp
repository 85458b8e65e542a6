#include "tensor/parallel.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "tensor/error.h"
#include "tensor/integers.h"
#include "tensor/thread_pool.h"
#include "tensor/timeline.h"

namespace kiln {
namespace {

constinit std::atomic<int> threads{0};        // 0: as many as the machine has
thread_local constinit bool working = false;  // on pieces

// Pieces [begin, end), taken from either side.
class alignas(64) Share {
 public:
  void fill(std::uint32_t begin, std::uint32_t end) {
    left_.store(packed(begin, end), std::memory_order_relaxed);
  }
  // The first that is left, or the last; -1: there is none.
  std::int64_t take(bool first) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    for (;;) {
      const auto begin = static_cast<std::uint32_t>(left >> 32U), end = static_cast<std::uint32_t>(left);
      if (begin == end) return -1;
      const std::uint64_t rest = first ? packed(begin + 1, end) : packed(begin, end - 1);
      if (left_.compare_exchange_weak(left, rest, std::memory_order_relaxed)) return first ? begin : end - 1;
    }
  }

 private:
  static std::uint64_t packed(std::uint32_t begin, std::uint32_t end) {
    return std::uint64_t{begin} << 32U | end;
  }
  std::atomic<std::uint64_t> left_{0};
};

// Each thread has a share of its own, the same part of every loop: what it made of a tensor is still in its
// caches when the next op reads that. When it is done it takes from the ends of the others' shares: a thread
// that the machine slows down does less.
class Pieces final : public Job {
 public:
  Pieces(std::int64_t count, std::int64_t piece, int workers, RangeFn f)
      : count_(count),
        piece_(piece),
        shares_count_(std::min(workers, kMostShares)),
        f_(f),
        brought_by_(timeline::innermost()) {
    const std::int64_t pieces = ceil_divide(count, piece);
    const auto first_of = [&](int k) { return static_cast<std::uint32_t>(pieces * k / shares_count_); };
    for (int k = 0; k < shares_count_; ++k) share(k).fill(first_of(k), first_of(k + 1));
  }

  void work(int thread) override {
    const WorksFor caller(holds_);
    std::optional<timeline::Span> span;
    if (brought_by_ != nullptr && thread > 0) [[unlikely]]
      span.emplace(timeline::Kind::Share, brought_by_->name, brought_by_->line);
    const bool before = std::exchange(working, true);
    for (int k = 0; k < shares_count_; ++k) take(share(thread + k), k == 0);
    working = before;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr int kMostShares = 16;  // more threads have some in common

  Share& share(int k) { return shares_[static_cast<std::size_t>(k % shares_count_)]; }

  void take(Share& from, bool is_own) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      const std::int64_t piece = from.take(is_own);
      if (piece < 0) return;
      try {
        check_interrupt();
        f_(piece * piece_, std::min((piece + 1) * piece_, count_));
      } catch (...) {
        if (!stopped_.exchange(true)) error_ = std::current_exception();
      }
    }
  }

  std::int64_t count_, piece_;
  int shares_count_;
  RangeFn f_;
  const timeline::Event* brought_by_;  // null: nothing is recorded
  const InterruptHolds* holds_ = interrupt_holds();
  std::array<Share, kMostShares> shares_;
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
};

}  // namespace

int num_threads() {
  static const int all = omp_get_max_threads();  // respects the process's processors and OMP_NUM_THREADS
  const int count = threads.load(std::memory_order_relaxed);
  return count > 0 ? count : all;
}

void set_num_threads(int count) {
  if (count < 1) {
    throw OpError(ErrorKind::Value, "the number of threads must be at least 1, got " + std::to_string(count));
  }
  threads.store(count, std::memory_order_relaxed);
}

void parallel_for(std::int64_t count, std::int64_t grain, RangeFn f) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (count <= grain || working) {
    check_interrupt();
    return f(0, count);
  }
  const int workers = static_cast<int>(std::min<std::int64_t>(num_threads(), ceil_divide(count, grain)));
  // A few pieces per thread even out the work; never so long that an interrupt has to wait. A grain is work
  // for some 10 us.
  const std::int64_t share = count / (std::int64_t{workers} * 4);
  const std::int64_t most = grain > (1 << 14) ? std::max<std::int64_t>(grain, 1 << 20) : 64 * grain;
  Pieces pieces(count, std::clamp(share, grain, most), workers, f);
  if (workers == 1 || !ThreadPool::get().run(pieces, workers)) pieces.work(0);
  pieces.rethrow();
}

}  // namespace kiln
