#include "repl/crash.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace kiln::repl {
namespace {

const Session* watched = nullptr;
std::array<char, 4096> report_path{};
std::size_t report_path_size = 0;

void put(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Everything here was prepared beforehand: a signal may come at any instruction.
void on_fatal_signal(int signal) {
  // A second fault, in here, ends the process at once.
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  put(STDERR_FILENO, "\nkiln itself failed here, your program did not. ");
  const int file = open(report_path.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0) {
    put(file, "# An internal failure of kiln: this script should fail the same way.\n\n");
    put(file, watched->script());
    put(file, "\n# The entry that failed:\n");
    put(file, watched->current_entry());
    put(file, "\n");
    close(file);
    put(STDERR_FILENO, "The entries of this session are in ");
    put(STDERR_FILENO, {report_path.data(), report_path_size});
  }
  put(STDERR_FILENO, "\n");
  raise(signal);
}

// Running out of stack leaves none for the handler, so it has its own.
void use_signal_stack() {
  static std::array<char, 256 * 1024> memory;  // the registers of AVX-512 and AMX alone take 11 KiB
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
}

}  // namespace

void watch_crashes(const std::string& folder, const Session& session) {
  if (folder.empty()) return;
  const std::string target = folder + "/crash-" + std::to_string(getpid()) + ".kiln";
  if (target.size() >= report_path.size()) return;
  target.copy(report_path.data(), target.size());
  report_path_size = target.size();
  watched = &session;
  use_signal_stack();
  struct sigaction action{};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace kiln::repl
