#include "repl/signal_stack.h"

#include <array>
#include <csignal>

namespace kiln::repl {

void use_signal_stack() {
  static std::array<char, 256 * 1024> memory;  // the registers of AVX-512 and AMX alone take 11 KiB
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
}

}  // namespace kiln::repl
