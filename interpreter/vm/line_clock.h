// Owns the clock that tells, for profiles, on which lines of the program the machine spends its own time.
#pragma once

#include <atomic>
#include <thread>

#include "interpreter/interpreter.h"

namespace kiln::interp {

// While it lives, what the machine has done since the last tick is put down to the line that ran at the tick
// (timeline::mark). A tick is seen between two instructions, so that one instruction which takes long has all
// of its time. Only then is a line looked up: a loop of small numbers alone takes not quite twice as long, a
// program that computes with tensors hardly longer.
class LineClock {
 public:
  explicit LineClock(Interpreter& interpreter);
  ~LineClock();
  LineClock(const LineClock&) = delete;
  LineClock& operator=(const LineClock&) = delete;

 private:
  Interpreter& interpreter_;
  std::atomic<bool> is_due_{true};
  std::jthread ticks_;
};

}  // namespace kiln::interp
