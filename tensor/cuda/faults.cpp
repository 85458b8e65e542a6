#include "tensor/cuda/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "tensor/cuda/work.h"
#include "tensor/delayed_error.h"

namespace kiln::cuda {
namespace {

constexpr std::uint64_t kNothing = ~std::uint64_t{0};
constexpr std::size_t kMostPending = 1024;  // then the host waits for the card

struct Pending {
  std::uint64_t launch;
  std::function<OpError(std::int64_t)> refusal;
  ProgramPlace place;
};

// Of one card.
struct Faults {
  std::mutex mutex;
  std::uint64_t* word = nullptr;
  std::uint64_t next = 1;
  std::uint64_t forgotten = 0;  // what launches before it met is told no more
  std::deque<Pending> pending;
  bool is_awaited = false;  // by the program, at once
};

std::atomic<std::size_t> pending_count{0};

// Never destroyed, as contexts.
Faults& faults_of(Device device) {
  static auto* const all = new std::array<Faults, kMostCards>;
  return all->at(static_cast<std::size_t>(device.index));
}

void settle_all() {
  for (std::size_t index = 0; index < kMostCards; ++index) {
    const Device device{Device::Kind::Cuda, static_cast<std::int8_t>(index)};
    if (Context::made_for(device) != nullptr) Context::of(device).synchronize();
  }
}

void begin(Context& context, Faults& faults) {
  void* memory = nullptr;
  context.check("cuMemHostAlloc",
                driver().api.cuMemHostAlloc(&memory, sizeof(std::uint64_t), kHostPortable | kHostMapped));
  faults.word = static_cast<std::uint64_t*>(memory);
  std::atomic_ref(*faults.word).store(kNothing);
  static std::once_flag once;
  std::call_once(once, [] {
    add_settling({[] { return pending_count.load(std::memory_order_relaxed) > 0; }, settle_all});
  });
}

void forget(Faults& faults) {
  pending_count -= faults.pending.size();
  faults.pending.clear();
  faults.forgotten = faults.next;
}

}  // namespace

FaultTicket expect_fault(Context& context, std::function<OpError(std::int64_t)> refusal) {
  Faults& faults = faults_of(context.device());
  std::unique_lock lock(faults.mutex);
  if (faults.word == nullptr) begin(context, faults);
  if (faults.pending.size() >= kMostPending) {
    lock.unlock();
    context.synchronize();
    lock.lock();
  }
  const std::uint64_t launch = faults.next++;
  KeptPlace here = current_place();
  faults.pending.push_back({launch, std::move(refusal), std::move(here.place)});
  faults.is_awaited = faults.is_awaited || here.is_awaited;
  ++pending_count;
  return {faults.word, launch};
}

void wait_where_awaited(Context& context) {
  Faults& faults = faults_of(context.device());
  {
    const std::lock_guard lock(faults.mutex);
    if (!std::exchange(faults.is_awaited, false)) return;
  }
  context.synchronize();
}

void check_faults(Context& context, bool is_done) {
  Faults& faults = faults_of(context.device());
  std::unique_lock lock(faults.mutex);
  if (faults.word == nullptr) return;
  const std::uint64_t found = std::atomic_ref(*faults.word).exchange(kNothing);
  if (found == kNothing) {
    if (is_done && !is_kept_back_elsewhere(context.device())) forget(faults);
    return;
  }
  const std::uint64_t launch = found >> kDetailBits;
  const auto detail = static_cast<std::int64_t>(found & ((std::uint64_t{1} << kDetailBits) - 1));
  const auto refused = std::find_if(faults.pending.begin(), faults.pending.end(),
                                    [launch](const Pending& each) { return each.launch == launch; });
  if (refused == faults.pending.end()) {
    if (launch < faults.forgotten) return;
    throw InternalError("a kernel refused an element, and nobody knows which");
  }
  const Pending first = std::move(*refused);
  forget(faults);
  lock.unlock();                        // the error may be made of elements on the card
  if (!is_done) context.synchronize();  // what launches after it meet is told to no one else
  throw DelayedError(first.refusal(detail), first.place);
}

}  // namespace kiln::cuda
