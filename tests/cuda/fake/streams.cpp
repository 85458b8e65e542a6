#include "tests/cuda/fake/streams.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/cuda/fake/device_access.h"
#include "tests/cuda/fake/random.h"
#include "tests/cuda/fake/settings.h"
#include "tests/cuda/fake/state.h"

namespace kiln::fake {
namespace {

// One lock for all queues: what they hold is short.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  Random pauses{static_cast<std::uint64_t>(number_setting("KILN_FAKE_DELAYS", 0))};
};
Shared& shared() {
  static auto* const made = new Shared;  // never destroyed: threads of streams use it to the end
  return *made;
}

// How long the stream sleeps before its next piece of work: now and then a little.
std::chrono::microseconds pause() {
  static const bool has_pauses = number_setting("KILN_FAKE_DELAYS", 0) != 0;
  constexpr std::uint32_t kOneOf = 4, kMost = 300;
  if (!has_pauses || shared().pauses.below(kOneOf) != 0) return {};
  return std::chrono::microseconds(shared().pauses.below(kMost));
}

// Is work done within the call that gives it? Then streams have no threads.
bool is_synchronous() {
  static const bool set = number_setting("KILN_FAKE_SYNC", 0) != 0;
  return set;
}

// Asks for a while before a thread sleeps, since waking it takes longer than most work.
template <class F>
bool comes_soon(const F& has_come) {
  constexpr int kQuestions = 200;
  for (int i = 0; i < kQuestions; ++i) {
    if (has_come()) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

bool has_come(const MomentHandle& moment) { return moment == nullptr || moment->has_come; }

void wait_for(const std::vector<MomentHandle>& moments) {
  for (const MomentHandle& moment : moments) {
    const auto come = [&] { return has_come(moment); };
    if (comes_soon(come)) continue;
    std::unique_lock lock(shared().mutex);
    shared().changed.wait(lock, come);
  }
}

std::shared_ptr<Queue> Queue::make(cuda::ContextData& context) {
  auto queue = std::make_shared<Queue>(context);
  if (!is_synchronous()) std::thread([queue] { queue->run(); }).detach();
  return queue;
}

MomentHandle Queue::give(Work work) {
  auto done = std::make_shared<Moment>();
  if (is_synchronous()) {
    perform(std::move(work), *done);
    done->has_come = true;
    return done;
  }
  const std::lock_guard lock(shared().mutex);
  items_.push_back({std::move(work), nullptr, done});
  has_items_ = true;
  shared().changed.notify_all();
  return done;
}

void Queue::hold_until(const MomentHandle& moment) {
  const std::lock_guard lock(shared().mutex);
  if (moment == nullptr || moment->has_come) return;
  items_.push_back({nullptr, moment, std::make_shared<Moment>()});
  has_items_ = true;
  shared().changed.notify_all();
}

MomentHandle Queue::end() const {
  const std::lock_guard lock(shared().mutex);
  return items_.empty() ? nullptr : items_.back().done;
}

void Queue::retire(const std::shared_ptr<Queue>& queue) {
  const std::lock_guard lock(shared().mutex);
  queue->is_retired_ = true;
  shared().changed.notify_all();
}

void Queue::run() {
  std::unique_lock lock(shared().mutex);
  while (true) {
    shared().changed.wait(lock, [this] { return !items_.empty() || is_retired_; });
    if (items_.empty()) return;
    while (!items_.empty()) run_first(lock);
    lock.unlock();
    comes_soon([this] { return has_items_.load(); });
    lock.lock();
  }
}

// It stays in the queue until it is done.
void Queue::run_first(std::unique_lock<std::mutex>& lock) {
  Item& item = items_.front();
  if (item.after != nullptr) shared().changed.wait(lock, [&] { return item.after->has_come.load(); });
  const std::chrono::microseconds length = pause();
  lock.unlock();
  if (length.count() > 0) std::this_thread::sleep_for(length);
  perform(std::move(item.work), *item.done);
  lock.lock();
  item.done->has_come = true;
  items_.pop_front();
  has_items_ = !items_.empty();
  shared().changed.notify_all();
}

// After an error no work of the context is done.
void Queue::perform(Work work, Moment& done) {
  if (work != nullptr && context_.sticky == cuda::kSuccess) {
    const DeviceAccess access;
    note(context_, work());
  }
  done.time = std::chrono::steady_clock::now();
}

}  // namespace kiln::fake
