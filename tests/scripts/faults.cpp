#include "tests/scripts/faults.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "tensor/guarded/guarded.h"

namespace {

std::string place;  // read by a handler of signals, which ends the process

void write_text(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(1);
}

void on_fault(int, siginfo_t* info, void*) {
  write_text(
      place + ": " +
      (kiln::guarded::owns(info->si_addr) ? "the host touched memory of the guarded device\n" : "a fault\n"));
  std::array<void*, 24> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  _exit(1);
}

}  // namespace

void now_running(std::string at) { place = std::move(at); }

void tell_faults() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads what it needs now, not within the handler
}
