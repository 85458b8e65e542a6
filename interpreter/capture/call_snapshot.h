// Owns whether code is captured for the graph of one call, which stands for no later call.
#pragma once

#include <utility>

namespace kiln::interp::capture {

// While one is on, functions, types and modules that backward bodies read from outside are taken as they are
// now: a body that calls a function of its module is a graph.
class CallSnapshot {
 public:
  explicit CallSnapshot(bool is_on) : before_(std::exchange(is_on_, is_on)) {}
  ~CallSnapshot() { is_on_ = before_; }
  CallSnapshot(const CallSnapshot&) = delete;
  CallSnapshot& operator=(const CallSnapshot&) = delete;
  static bool is_on() { return is_on_; }

 private:
  static inline thread_local bool is_on_ = false;
  bool before_;
};

}  // namespace kiln::interp::capture
