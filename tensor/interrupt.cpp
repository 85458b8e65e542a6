#include "tensor/interrupt.h"

#include <utility>

#include "tensor/error.h"
#include "tensor/interrupt_look.h"

namespace kiln {
namespace {

thread_local constinit InterruptHolds own_holds;
thread_local constinit const InterruptHolds* working_for = nullptr;  // null: for itself
std::atomic<std::int64_t> places_to_pass{0};

}  // namespace

std::atomic<bool> interrupt_requested{false};

const InterruptHolds* interrupt_holds() { return working_for != nullptr ? working_for : &own_holds; }

bool interrupt_is_due() {
  const InterruptHolds& holds = *interrupt_holds();
  if (own_holds.depth > 0 || holds.depth > 0 || (holds.holds != nullptr && holds.holds(holds.of)))
    return false;
  if (places_to_pass.load(std::memory_order_relaxed) <= 0) return true;
  return places_to_pass.fetch_sub(1, std::memory_order_relaxed) <= 0;
}

void throw_interrupt() { throw OpError(ErrorKind::Interrupted, kInterrupted); }

bool interrupt_came() { return interrupt_requested.load(std::memory_order_relaxed) && interrupt_is_due(); }

namespace {

// Other threads may look, and only this one writes.
std::atomic_ref<int> depth_of(const InterruptHolds& holds) {
  return std::atomic_ref<int>(const_cast<InterruptHolds&>(holds).depth);
}
void change_depth(int by) { depth_of(own_holds).store(own_holds.depth + by, std::memory_order_relaxed); }

}  // namespace

bool is_held(const InterruptHolds& holds) { return depth_of(holds).load(std::memory_order_relaxed) > 0; }

HeldInterrupts::HeldInterrupts() { change_depth(1); }
HeldInterrupts::~HeldInterrupts() { change_depth(-1); }

InterruptRule::InterruptRule(bool (*holds)(const void* of), const void* of)
    : holds_before_(std::exchange(own_holds.holds, holds)), of_before_(std::exchange(own_holds.of, of)) {}
InterruptRule::~InterruptRule() {
  own_holds.holds = holds_before_;
  own_holds.of = of_before_;
}

WorksFor::WorksFor(const InterruptHolds* holds) : before_(std::exchange(working_for, holds)) {}
WorksFor::~WorksFor() { working_for = before_; }

void let_interrupt_pass(std::int64_t places) { places_to_pass.store(places, std::memory_order_relaxed); }

}  // namespace kiln
