#include "tensor/detached_call.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "tensor/held_signals.h"
#include "tensor/interrupt.h"

namespace kiln {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

std::atomic<int> left_behind{0};
thread_local constinit int leaving = 0;  // scopes

bool waits_no_more() { return leaving > 0 || std::uncaught_exceptions() > 0 || interrupt_requested.load(); }

}  // namespace

// Shared by the thread that waits and the one that runs: either may be the last to need it.
struct DetachedCall::State {
  explicit State(std::function<void()> its_call) : call(std::move(its_call)) {}

  void run() {
    thread = ::gettid();
    std::exception_ptr thrown;
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
    call = nullptr;
    const std::lock_guard lock(mutex);
    has_ended = true;
    error = thrown;
    if (is_left) --left_behind;
    ended.notify_all();
  }

  // Looks now and then, as no signal wakes it. False: `stop` said so before the end.
  template <class Stop>
  bool wait(const Stop& stop) {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kBetweenLooks, [this] { return has_ended; })) {
      if (stop()) return false;
    }
    return true;
  }

  // A tenth of what others get: with less, a thread cannot even end with the process on a busy machine.
  void leave() {
    const std::lock_guard lock(mutex);
    if (has_ended) return;
    is_left = true;
    ++left_behind;
    constexpr int kNice = 10;
    if (thread != 0) ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), kNice);
  }

  std::function<void()> call;
  std::atomic<pid_t> thread{0};  // in the system's numbers, once it runs
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false, is_left = false;
  std::exception_ptr error;
};

DetachedCall::DetachedCall(std::function<void()> call) : state_(std::make_shared<State>(std::move(call))) {
  const HeldSignals held;  // a signal is the interpreter's, whose calls it is to end
  thread_ = std::thread([state = state_] { state->run(); });
}

DetachedCall::~DetachedCall() {
  if (!state_->wait(waits_no_more)) state_->leave();
  thread_.detach();
}

LeavesDetachedCalls::LeavesDetachedCalls() { ++leaving; }
LeavesDetachedCalls::~LeavesDetachedCalls() { --leaving; }

bool DetachedCall::has_ended() const {
  const std::lock_guard lock(state_->mutex);
  return state_->has_ended;
}

void DetachedCall::wait() const {
  state_->wait([] {
    check_interrupt();
    return false;
  });
}

void DetachedCall::rethrow() const {
  if (state_->error) std::rethrow_exception(state_->error);
}

void run_detached(std::function<void()> call) {
  const DetachedCall detached(std::move(call));
  detached.wait();
  detached.rethrow();
}

bool detached_calls_go_on() { return left_behind.load() > 0; }

}  // namespace kiln
