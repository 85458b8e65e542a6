#include "tests/cuda/fake/stacks.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

// Those that a callee keeps, by the convention of calls of x86-64.
asm(R"(
.text
.globl kiln_fake_switch
.hidden kiln_fake_switch
.type kiln_fake_switch, @function
kiln_fake_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kiln_fake_switch, .-kiln_fake_switch
)");

namespace kiln::fake {
namespace {

constexpr std::size_t kPage = 4096;
// An odd number of pages, and beginnings at different lines of the cache, which would hold few of them
// otherwise.
constexpr std::size_t kBytes = 35 * kPage;
constexpr std::size_t kStep = 192, kSteps = 21;
constexpr std::size_t kKept = 6;  // registers that a switch keeps

}  // namespace

Stacks::Stacks(void (*body)()) : body_(body), places_(kMost) {
  void* const memory = mmap(nullptr, kMost * kBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(memory);
  end_ = begin_ + kMost * kBytes;
}

int Stacks::take() {
  if (free_.empty()) {
    std::byte* const stack = begin_ + static_cast<std::size_t>(made_) * kBytes;
    if (mprotect(stack + kPage, kBytes - kPage, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    start_anew(made_);
    return made_++;
  }
  const int stack = free_.back();
  free_.pop_back();
  return stack;
}

void Stacks::start_anew(int stack) {
  const auto index = static_cast<std::size_t>(stack);
  // A function finds its stack 8 bytes off a multiple of 16, where its caller's address is.
  auto* top =
      reinterpret_cast<void**>(begin_ + (index + 1) * kBytes - index % kSteps * kStep - 2 * sizeof(void*));
  *--top = nullptr;
  std::memcpy(--top, &body_, sizeof body_);
  top -= kKept;
  std::memset(static_cast<void*>(top), 0, kKept * sizeof(void*));
  places_[index] = top;
}

void Stacks::reset() {
  free_.clear();
  for (int stack = made_ - 1; stack >= 0; --stack) {
    start_anew(stack);
    free_.push_back(stack);
  }
}

}  // namespace kiln::fake
