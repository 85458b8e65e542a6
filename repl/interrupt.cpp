#include "repl/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

#include "repl/failure.h"
#include "tensor/parallel.h"

namespace kiln::repl {
namespace {

volatile std::sig_atomic_t leave_at_second = 0;
volatile std::sig_atomic_t last_signal_ms = 0;

// Milliseconds, wrapping; only differences count.
int now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int>((now.tv_sec % 1'000'000) * 1000 + now.tv_nsec / 1'000'000);
}

void say(const char* text, std::size_t size) {
  if (write(STDERR_FILENO, text, size) < 0) return;
}

// Only async-signal-safe calls here.
void on_interrupt(int) {
  const int now = now_ms();
  const bool unanswered = kiln::interrupt_requested.exchange(true);
  const int passed = now - last_signal_ms;
  // A terminal and the launcher of ranks may both hand on what a person pressed once.
  const bool soon = passed >= 50 && passed <= 1000;
  last_signal_ms = now;
  if (!unanswered || !soon) return;
  if (leave_at_second != 0) {
    static constexpr char kText[] = "\nkiln: stopped at once\n";
    say(kText, sizeof kText - 1);
    _exit(kExitInterrupted);
  }
  static constexpr char kText[] =
      "\nkiln: stopping as soon as the running operation lets go (Ctrl-\\ ends kiln)\n";
  say(kText, sizeof kText - 1);
}

}  // namespace

void watch_interrupts(SecondInterrupt second) {
  leave_at_second = second == SecondInterrupt::Leave ? 1 : 0;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace kiln::repl
