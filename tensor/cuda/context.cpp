#include "tensor/cuda/context.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "tensor/cuda/faults.h"
#include "tensor/cuda/refusal.h"
#include "tensor/cuda/work.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace kiln::cuda {
namespace {

struct All {
  std::mutex mutex;  // of making one
  std::array<std::atomic<Context*>, kMostCards> made{};
};
// Never destroyed: tensors in static variables end after everything else.
All& all() {
  static auto* const contexts = new All;
  return *contexts;
}

// After these no call for the context succeeds.
bool loses_context(Result error) {
  constexpr Result kLosing[] = {kUncorrectableMemory, kIllegalAddress,     kLaunchTimeout,     kAssert,
                                kHardwareStack,       kIllegalInstruction, kMisalignedAddress, kIllegalSpace,
                                kIllegalCounter,      kLaunchFailed};
  return std::find(std::begin(kLosing), std::end(kLosing), error) != std::end(kLosing);
}

}  // namespace

Context* Context::made_for(Device device) noexcept {
  const auto index = static_cast<std::size_t>(device.index);
  if (index >= kMostCards) return nullptr;
  Context* const context = all().made[index].load(std::memory_order_acquire);
  return context != nullptr && !context->is_lost() ? context : nullptr;
}

Context& Context::of(Device device) {
  if (Context* const context = made_for(device)) [[likely]] {
    context->make_current();
    return *context;
  }
  if (refusal_of(device) || static_cast<std::size_t>(device.index) >= kMostCards) refuse(device);
  const std::lock_guard lock(all().mutex);
  std::atomic<Context*>& place = all().made[static_cast<std::size_t>(device.index)];
  if (place == nullptr) place = new Context(device, driver().cards[static_cast<std::size_t>(device.index)]);
  Context& context = *place;
  if (context.is_lost()) context.refuse_lost();
  context.make_current();
  return context;
}

Context::Context(Device device, const Card& card) : device_(device), card_(card) {
  check("cuDevicePrimaryCtxRetain", driver_api().cuDevicePrimaryCtxRetain(&handle_, device.index));
  check("cuCtxSetCurrent", driver_api().cuCtxSetCurrent(handle_));
  check("cuStreamCreate", driver_api().cuStreamCreate(&stream_, kStreamNonBlocking));
  has_pools_ = attribute(kMemoryPoolsSupported) != 0;
  multiprocessors_ = attribute(kMultiprocessors);
}

int Context::attribute(int which) const {
  int value = 0;
  const Result result = driver_api().cuDeviceGetAttribute(&value, which, device_.index);
  if (result != kSuccess)
    throw OpError(ErrorKind::Device, failure_text(driver_api(), "cuDeviceGetAttribute", result));
  return value;
}

void Context::make_current() {
  thread_local constinit ContextHandle current = nullptr;
  if (current == handle_) return;
  check("cuCtxSetCurrent", driver_api().cuCtxSetCurrent(handle_));
  current = handle_;
}

void Context::note(Result result) noexcept {
  if (loses_context(result)) lost_.store(result, std::memory_order_relaxed);
}

void Context::refuse_lost() const {
  throw OpError(
      ErrorKind::Device,
      fmt::format("{} is lost, with the tensors on it: {}", to_string(device_),
                  failure_text(driver_api(), "its work", lost_.load(std::memory_order_relaxed))),
      {}, "what is on the CPU is still there, and is computed there; to use the card again, start Kiln anew");
}

void Context::check(std::string_view entry, Result result) {
  if (result == kSuccess) [[likely]]
    return;
  note(result);
  if (is_lost()) refuse_lost();
  throw OpError(result == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Device,
                fmt::format("{}: {}", to_string(device_), failure_text(driver_api(), entry, result)));
}

// Short waits are asked for again and again; in long ones the thread sleeps, and Ctrl-C is seen.
void Context::wait_for(std::string_view entry, Result (*query)(const Context&, void*), void* handle) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (true) {
    const Result result = query(*this, handle);
    if (result != kNotReady) {
      check(entry, result);
      return;
    }
    check_interrupt();
    if (Clock::now() - start > std::chrono::microseconds(100))
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

StreamHandle Context::stream() const {
  give_kept_back(*this);
  return stream_;
}

void Context::synchronize() {
  give_kept_back(*this);
  wait_for(
      "cuStreamQuery",
      [](const Context& context, void*) { return driver_api().cuStreamQuery(context.stream_); }, nullptr);
  check_faults(*this, true);
}

void Context::wait(EventHandle event) {
  wait_for(
      "cuEventQuery",
      [](const Context&, void* handle) {
        return driver_api().cuEventQuery(static_cast<EventHandle>(handle));
      },
      event);
  check_faults(*this, false);
}

Event::Event(Context& context) : context_(context) {
  context.check("cuEventCreate", driver_api().cuEventCreate(&handle_, kEventDisableTiming));
}
// It may end on another thread than it was made on.
Event::~Event() {
  try {
    Context::of(context_.device());
  } catch (const OpError&) {
    return;  // the card is lost, with its events
  }
  context_.note(driver_api().cuEventDestroy_v2(handle_));
}

void Event::record() {
  context_.check("cuEventRecord", driver_api().cuEventRecord(handle_, context_.stream()));
}
void Event::hold(const Context& other) const {
  context_.check("cuStreamWaitEvent", driver_api().cuStreamWaitEvent(other.stream(), handle_, 0));
}

}  // namespace kiln::cuda
