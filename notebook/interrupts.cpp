#include "notebook/interrupts.h"

#include <csignal>
#include <ctime>

#include "repl/interrupt.h"
#include "tensor/interrupt.h"

namespace kiln::notebook {
namespace {

sigset_t only_interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void hold_interrupts() {
  const sigset_t set = only_interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  repl::watch_interrupts(repl::SecondInterrupt::Tell);
}

InterruptsInCell::InterruptsInCell() {
  const sigset_t set = only_interrupts();
  constexpr timespec kNow{};
  while (sigtimedwait(&set, nullptr, &kNow) == SIGINT) continue;
  interrupt_requested.store(false);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

InterruptsInCell::~InterruptsInCell() {
  const sigset_t set = only_interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace kiln::notebook
