#include "tensor/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "tensor/error.h"
#include "tensor/thread_pool.h"

namespace kiln {
namespace {

constinit std::atomic<int> threads{0};        // 0: as many as the machine has
thread_local constinit bool working = false;  // on pieces

// Pieces are handed out one at a time: a thread that the machine slows down takes fewer.
class Pieces final : public Job {
 public:
  Pieces(std::int64_t count, std::int64_t piece, RangeFn f) : count_(count), piece_(piece), f_(f) {}

  void work() override {
    const bool before = std::exchange(working, true);
    take();
    working = before;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take() {
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
  const int workers = static_cast<int>(std::min<std::int64_t>(num_threads(), (count + grain - 1) / grain));
  // A few pieces per thread even out the work; never so long that an interrupt has to wait.
  const std::int64_t share = count / (std::int64_t{workers} * 4);
  Pieces pieces(count, std::clamp(share, grain, std::max<std::int64_t>(grain, 1 << 20)), f);
  if (workers == 1 || !ThreadPool::get().run(pieces, workers)) pieces.work();
  pieces.rethrow();
}

}  // namespace kiln
