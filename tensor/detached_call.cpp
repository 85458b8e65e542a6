#include "tensor/detached_call.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tensor/held_signals.h"
#include "tensor/interrupt.h"

namespace kiln {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

std::atomic<int> going_on{0};  // calls that nothing waits for

// Shared by the thread that waits and the one that runs: either may be the last to need it.
class DetachedCall {
 public:
  explicit DetachedCall(std::function<void()> call) : call_(std::move(call)) {}

  void run() {
    std::exception_ptr error;
    try {
      call_();
    } catch (...) {
      error = std::current_exception();
    }
    call_ = nullptr;
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    error_ = error;
    if (is_left_) --going_on;
    ended_.notify_one();
  }

  void wait(std::thread& thread) {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetweenLooks, [&] { return has_ended_; })) {
      try {
        check_interrupt();
      } catch (...) {
        leave(thread);
        throw;
      }
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // With the lock held, so that the thread has not ended.
  void leave(std::thread& thread) {
    is_left_ = true;
    ++going_on;
    const sched_param lowest{};
    pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &lowest);
  }

  std::function<void()> call_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false, is_left_ = false;
  std::exception_ptr error_;
};

}  // namespace

void run_detached(std::function<void()> call) {
  const auto shared = std::make_shared<DetachedCall>(std::move(call));
  std::thread thread = [&] {
    const HeldSignals held;
    return std::thread([shared] { shared->run(); });
  }();
  // Detached in every case, as late as its handle is needed.
  const struct Detach {
    std::thread& thread;
    ~Detach() { thread.detach(); }
  } detach{thread};
  shared->wait(thread);
}

bool detached_calls_go_on() { return going_on.load() > 0; }

}  // namespace kiln
