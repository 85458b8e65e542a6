// Owns who is told when gradients are computed, for timelines that show it beside other work.
#pragma once

#include <atomic>

namespace kiln {

// Called on the thread that computes gradients, when that begins (true) and when it ends.
using BackwardWatch = void (*)(bool begins);

namespace detail {
inline constinit std::atomic<BackwardWatch> backward_watch{nullptr};
}  // namespace detail
// Null: nothing is told.
inline void set_backward_watch(BackwardWatch watch) {
  detail::backward_watch.store(watch, std::memory_order_release);
}
inline bool is_backward_watched() {
  return detail::backward_watch.load(std::memory_order_relaxed) != nullptr;
}

// From its construction to its end gradients are computed.
class BackwardSpan {
 public:
  BackwardSpan() : watch_(detail::backward_watch.load(std::memory_order_acquire)) {
    if (watch_ != nullptr) watch_(true);
  }
  ~BackwardSpan() {
    if (watch_ != nullptr) watch_(false);
  }
  BackwardSpan(const BackwardSpan&) = delete;
  BackwardSpan& operator=(const BackwardSpan&) = delete;

 private:
  BackwardWatch watch_;
};

}  // namespace kiln
