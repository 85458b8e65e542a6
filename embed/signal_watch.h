// Owns a signal for the time of one call: it interrupts the program, and the handler that was there is
// called, too.
#pragma once

#include <csignal>

namespace kiln::embed {

// One lives at a time. Where the signal is ignored, it stays so.
class SignalWatch {
 public:
  explicit SignalWatch(int signal_number);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int signal_number_;
  bool watches_ = false;
};

}  // namespace kiln::embed
