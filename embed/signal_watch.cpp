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

SignalWatch::SignalWatch(int signal_number) : signal_number_(signal_number) {
  struct sigaction now{};
  if (sigaction(signal_number, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN) return;
  replaced = now;
  struct sigaction own{};
  own.sa_sigaction = on_signal;
  own.sa_flags = SA_SIGINFO | (now.sa_flags & SA_ONSTACK);  // what waits in the system is woken
  own.sa_mask = now.sa_mask;
  watches_ = sigaction(signal_number, &own, nullptr) == 0;
}

SignalWatch::~SignalWatch() {
  if (!watches_) return;
  struct sigaction now{};
  // A program that put a handler of its own there keeps it.
  if (sigaction(signal_number_, nullptr, &now) == 0 && is_own(now))
    sigaction(signal_number_, &replaced, nullptr);
}

}  // namespace kiln::embed
