// Owns keeping signals away from a thread for a while.
#pragma once

#include <csignal>
#include <initializer_list>

namespace kiln {

// No signal is handled by this thread, nor by those it starts, but for those of our own faults. The outermost
// of several asks the system.
class HeldSignals {
 public:
  HeldSignals() {
    if (depth_++ > 0) return;
    static const sigset_t all = [] {
      sigset_t set;
      sigfillset(&set);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&set, fault);
      return set;
    }();
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~HeldSignals() {
    if (--depth_ == 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  static inline thread_local constinit int depth_ = 0;
  sigset_t before_;
};

}  // namespace kiln
