// Owns the wish to stop: who asks, where it is seen, and what is not cut by it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kiln {

// Set by Ctrl-C, polled by loops of the VM and between pieces of kernels; cleared by whoever reports it.
extern std::atomic<bool> interrupt_requested;
inline constexpr const char* kInterrupted = "stopped";  // what the error says, wherever it is seen

// Where a request was seen: is it to be acted upon here? Not while something of this thread is not to be cut.
bool interrupt_is_due();
[[noreturn]] void throw_interrupt();  // OpError (Interrupted)

// Throws OpError (Interrupted) when that was requested and is due.
inline void check_interrupt() {
  if (interrupt_requested.load(std::memory_order_relaxed)) [[unlikely]] {
    if (interrupt_is_due()) throw_interrupt();
  }
}

// Runs f(begin, end) over pieces of [0, count), between which a request is seen: for loops of the host. A
// piece of so many items or bytes takes a few milliseconds at most. Throws as check_interrupt and `f` do.
template <class F>
void in_pieces(std::size_t count, std::size_t piece, const F& f) {
  for (std::size_t begin = 0; begin < count; begin += piece) {
    check_interrupt();
    f(begin, begin + piece < count ? begin + piece : count);
  }
}
inline constexpr std::size_t kPieceOfBytes = std::size_t{1} << 24U;   // to be copied or searched
inline constexpr std::size_t kPieceOfValues = std::size_t{1} << 16U;  // to be made, compared or moved

// What keeps a thread's work from being cut; threads that share its loops go by it, too.
struct InterruptHolds {
  int depth = 0;
  bool (*holds)(const void* of) = nullptr;  // asked when there is a request
  const void* of = nullptr;
};
const InterruptHolds* interrupt_holds();  // of this thread's work

// While one lives, what this thread does is not cut: a write into memory that others see is seen whole or not
// at all. A request waits meanwhile, so what is done within must end soon.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
};

// While one lives, `holds(of)` says, too, whether this thread's work may be cut.
class InterruptRule {
 public:
  InterruptRule(bool (*holds)(const void* of), const void* of);
  ~InterruptRule();
  InterruptRule(const InterruptRule&) = delete;
  InterruptRule& operator=(const InterruptRule&) = delete;

 private:
  bool (*holds_before_)(const void*);
  const void* of_before_;
};

// While one lives, this thread works for another one, whose holds are these.
class WorksFor {
 public:
  explicit WorksFor(const InterruptHolds* holds);
  ~WorksFor();
  WorksFor(const WorksFor&) = delete;
  WorksFor& operator=(const WorksFor&) = delete;

 private:
  const InterruptHolds* before_;
};

// For tests: a request passes so many places where it would be acted upon before it is.
void let_interrupt_pass(std::int64_t places);

}  // namespace kiln
