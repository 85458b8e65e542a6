#include "tensor/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <string>

#include "tensor/error.h"

namespace kiln {
namespace {

constinit std::atomic<int> threads{0};  // 0: as many as the machine has

// Pieces are handed out one at a time: a thread that the machine slows down takes fewer.
class Pieces {
 public:
  Pieces(std::int64_t count, std::int64_t piece, RangeFn f) : count_(count), piece_(piece), f_(f) {}

  void work() {
    while (!stopped_.load(std::memory_order_relaxed)) {
      const std::int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
      if (begin >= count_) return;
      try {
        check_interrupt();
        f_(begin, std::min(begin + piece_, count_));
      } catch (...) {
        if (!stopped_.exchange(true)) error_ = std::current_exception();
      }
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::int64_t count_, piece_;
  RangeFn f_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
};

}  // namespace

std::atomic<bool> interrupt_requested{false};

void check_interrupt() {
  if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]] {
    throw OpError(ErrorKind::Interrupted, "interrupted");
  }
}

int num_threads() {
  const int count = threads.load(std::memory_order_relaxed);
  return count > 0 ? count : omp_get_max_threads();
}

void set_num_threads(int count) {
  if (count < 1) {
    throw OpError(ErrorKind::Value, "the number of threads must be at least 1, got " + std::to_string(count));
  }
  threads.store(count, std::memory_order_relaxed);
  omp_set_num_threads(count);  // for oneDNN, which asks OpenMP
}

void parallel_for(std::int64_t count, std::int64_t grain, RangeFn f) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (count <= grain || omp_in_parallel()) {
    check_interrupt();
    return f(0, count);
  }
  const int workers = static_cast<int>(std::min<std::int64_t>(num_threads(), (count + grain - 1) / grain));
  // A few pieces per thread even out the work; never so long that an interrupt has to wait.
  const std::int64_t share = count / (std::int64_t{workers} * 4);
  Pieces pieces(count, std::clamp(share, grain, std::max<std::int64_t>(grain, 1 << 20)), f);
  if (workers == 1) {
    pieces.work();
  } else {
#pragma omp parallel num_threads(workers)
    pieces.work();
  }
  pieces.rethrow();
}

}  // namespace kiln
