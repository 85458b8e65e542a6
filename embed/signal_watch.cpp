#include "embed/signal_watch.h"

#include "embed/kiln.h"

namespace kiln::embed {
namespace {

struct sigaction replaced;

// Only async-signal-safe calls here.
void on_signal(int signal_number, siginfo_t* details, void* context) {
  kiln_interrupt();
  if ((replaced.sa_flags & SA_SIGINFO) != 0)
    replaced.sa_sigaction(signal_number, details, context);
  else if (replaced.sa_handler != SIG_DFL)
    replaced.sa_handler(signal_number);
}

bool is_own(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

}  // namespace

// One call of the system at each end, which is most of what a short call of a program takes.
SignalWatch::SignalWatch(int signal_number) : signal_number_(signal_number) {
  struct sigaction own{};
  own.sa_sigaction = on_signal;
  own.sa_flags = SA_SIGINFO;  // what waits in the system is woken
  sigemptyset(&own.sa_mask);
  watches_ = sigaction(signal_number, &own, &replaced) == 0;
  const bool is_ignored = (replaced.sa_flags & SA_SIGINFO) == 0 && replaced.sa_handler == SIG_IGN;
  if (!watches_ || !is_ignored) return;
  sigaction(signal_number, &replaced, nullptr);
  watches_ = false;
}

SignalWatch::~SignalWatch() {
  if (!watches_) return;
  struct sigaction now{};
  sigaction(signal_number_, &replaced, &now);
  // A program that put a handler of its own there keeps it.
  if (!is_own(now)) sigaction(signal_number_, &now, nullptr);
}

}  // namespace kiln::embed
