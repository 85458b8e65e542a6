// Owns the queues of the fake driver's streams: each has a thread of the host that does its work in the order
// in which it was given.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/cuda/fake/call.h"

namespace kiln::cuda {
struct ContextData;
}

namespace kiln::fake {

// When a piece of work is done.
struct Moment {
  std::atomic<bool> has_come{false};
  std::chrono::steady_clock::time_point time{};  // from then on
};
using MomentHandle = std::shared_ptr<Moment>;

bool has_come(const MomentHandle& moment);  // null has come
void wait_for(const std::vector<MomentHandle>& moments);

// What gives an error where it fails; empty work takes time as other work does.
using Work = std::function<Failure()>;

class Queue {
 public:
  explicit Queue(cuda::ContextData& context) : context_(context) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  MomentHandle give(Work work);
  // What is given from now on is done after this moment.
  void hold_until(const MomentHandle& moment);
  // When all is done that was given so far; null where that is so now.
  MomentHandle end() const;
  // The queue does what it was given, and nothing more comes.
  static void retire(const std::shared_ptr<Queue>& queue);

  // Makes the thread, where streams have some; the queue lives as long as that.
  static std::shared_ptr<Queue> make(cuda::ContextData& context);

 private:
  struct Item {
    Work work;
    MomentHandle after, done;
  };

  void run();
  void run_first(std::unique_lock<std::mutex>& lock);
  void perform(Work work, Moment& done);

  cuda::ContextData& context_;
  std::deque<Item> items_;
  std::atomic<bool> has_items_{false};
  bool is_retired_ = false;
};

}  // namespace kiln::fake
