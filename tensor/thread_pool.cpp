#include "tensor/thread_pool.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tensor/held_signals.h"

namespace kiln {
namespace {

constexpr std::uint64_t kOpen = 1U << 31;
constexpr std::uint64_t kCount = kOpen - 1;
// To wake a thread that sleeps takes tens of microseconds, as long as many an op: threads stay awake over
// what lies between two ops of a program, and no longer.
constexpr auto kAwake = std::chrono::microseconds(200);

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Waits until `value` is no longer `old`; gives what it is.
template <class T>
T wait_while(const std::atomic<T>& value, T old) {
  constexpr int kLooks = 32;  // for each look at the clock
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < kLooks; ++i) {
      const T now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

// Each sleeps on a call of its own, so that a small job wakes no more threads than it needs.
struct alignas(64) ThreadPool::Worker {
  explicit Worker(int its_thread) : thread(its_thread) {}
  std::atomic<std::uint32_t> call{0};  // number of the job it was last called to
  const int thread;
};

// Never destroyed: at the end of the process its threads may still be about to fall asleep.
ThreadPool& ThreadPool::get() {
  static auto* const pool = new ThreadPool();
  return *pool;
}

// Signals are for the threads of the program: these have no stack of their own for handlers.
void ThreadPool::grow(std::size_t count) {
  if (workers_.size() >= count) return;
  const HeldSignals held;
  while (workers_.size() < count) {
    workers_.push_back(std::make_unique<Worker>(static_cast<int>(workers_.size()) + 1));
    std::thread([this, worker = workers_.back().get()] {
      const HeldSignals for_good;
      serve(*worker);
    }).detach();
  }
}

void ThreadPool::serve(Worker& worker) {
  for (std::uint32_t last = 0;;) {
    last = wait_while(worker.call, last);
    if (!join(last)) continue;
    job_->work(worker.thread);
    leave();
  }
}

// Into the job of this number, unless it is over.
bool ThreadPool::join(std::uint32_t number) {
  std::uint64_t seen = gate_.load(std::memory_order_acquire);
  while (seen >> 32U == number && (seen & kOpen) != 0) {
    if (gate_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadPool::leave() {
  const std::uint64_t before = gate_.fetch_sub(1, std::memory_order_release);
  if ((before & kOpen) == 0) gate_.notify_one();
}

bool ThreadPool::run(Job& job, int threads) {
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock) return false;
  const auto others = static_cast<std::size_t>(threads - 1);
  grow(others);
  job_ = &job;
  ++number_;
  gate_.store(std::uint64_t{number_} << 32U | kOpen, std::memory_order_release);
  for (std::size_t i = 0; i < others; ++i) {
    workers_[i]->call.store(number_, std::memory_order_release);
    workers_[i]->call.notify_one();
  }
  job.work(0);
  std::uint64_t inside = gate_.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
  while ((inside & kCount) != 0) inside = wait_while(gate_, inside);
  return true;
}

}  // namespace kiln
