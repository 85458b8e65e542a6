#include "tests/cuda/fake/faults.h"

#include <pthread.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <iterator>

#include "tensor/cuda/api_types.h"

namespace kiln::fake {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

struct Guarded {
  std::atomic<bool> is_on{false};
  pthread_t thread{};
  void (*on_fault)(int, const char*, const void*) = nullptr;
  void (*leave)() = nullptr;
  struct sigaction before[std::size(kSignals)];
  alignas(64) std::byte handler_stack[64 * 1024];
  alignas(64) std::byte leaving_stack[32 * 1024];
};
Guarded guarded;  // one kernel runs at a time
stack_t stack_before;

struct Meaning {
  int error;
  const char* text;
};

// Is it an instruction that reads or writes a vector at addresses that are multiples of its size alone? They
// are movaps, movntps, movdqa and movntdq, as they are written since AVX.
bool needs_alignment(const unsigned char* instruction) {
  const bool is_short = instruction[0] == 0xC5, is_long = instruction[0] == 0xC4;
  if (!is_short && !is_long) return false;
  const unsigned prefix = instruction[is_short ? 1 : 2] & 3U;
  switch (instruction[is_short ? 2 : 3]) {
    case 0x28:
    case 0x29:
    case 0x2B:
    case 0xE7:
      return true;
    case 0x6F:
    case 0x7F:
      return prefix == 1;
    default:
      return false;
  }
}

// Of the other accesses that the processor refuses before it looks at memory, the addresses are beyond all
// that there can be.
Meaning meaning_of(int signal, const siginfo_t& info, const unsigned char* instruction) {
  if (signal == SIGFPE) return {cuda::kLaunchFailed, "an integer divided by 0"};
  if (signal == SIGILL) return {cuda::kLaunchFailed, "a trap"};
  if (signal == SIGSEGV && info.si_code == SI_KERNEL && needs_alignment(instruction))
    return {cuda::kMisalignedAddress, "a vector that is not aligned"};
  return {cuda::kIllegalAddress, "an access to an illegal address"};
}

void give_to(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  std::signal(signal, SIG_DFL);  // the instruction is done again, and ends the process
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (!guarded.is_on.load(std::memory_order_acquire) || pthread_equal(guarded.thread, pthread_self()) == 0) {
    std::size_t index = 0;
    while (kSignals[index] != signal) ++index;
    return give_to(guarded.before[index], signal, info, context);
  }
  guarded.is_on.store(false, std::memory_order_release);  // one in leaving is the fake driver's own
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Meaning meaning =
      meaning_of(signal, *info, reinterpret_cast<const unsigned char*>(registers[REG_RIP]));
  guarded.on_fault(meaning.error, meaning.text, info->si_addr);
  std::byte* const top = std::end(guarded.leaving_stack) - 64;
  registers[REG_RSP] = static_cast<greg_t>(reinterpret_cast<std::size_t>(top) - sizeof(void*));
  registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::size_t>(guarded.leave));
}

}  // namespace

FaultGuard::FaultGuard(void (*on_fault)(int, const char*, const void*), void (*leave)()) {
  guarded.thread = pthread_self();
  guarded.on_fault = on_fault;
  guarded.leave = leave;
  stack_t stack{};
  stack.ss_sp = guarded.handler_stack;
  stack.ss_size = sizeof guarded.handler_stack;
  sigaltstack(&stack, &stack_before);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &guarded.before[i]);
  guarded.is_on.store(true, std::memory_order_release);
}

FaultGuard::~FaultGuard() {
  guarded.is_on.store(false, std::memory_order_release);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &guarded.before[i], nullptr);
  sigaltstack(&stack_before, nullptr);
}

}  // namespace kiln::fake
