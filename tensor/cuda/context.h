// Owns a card that Kiln computes on: its context, the one stream that all work goes to, and whether the card
// is lost.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>

#include "tensor/cuda/devices.h"
#include "tensor/device.h"

namespace kiln::cuda {

// All work on a card goes to one stream, so that what is given later sees what was given before, and memory
// may be used again as soon as it is free. Any thread may give work.
class Context {
 public:
  // Of a card that can be used; made at its first use, and current on this thread when this returns. Throws
  // OpError (Device) for a device that is not here, and for one that is lost.
  static Context& of(Device device);
  // The same where it was made already and the card is not lost; null otherwise. Never throws.
  static Context* made_for(Device device) noexcept;

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device device() const { return device_; }
  const Card& card() const { return card_; }
  ContextHandle handle() const { return handle_; }
  // To give work at once: what is kept back (work.h) is given before this returns.
  StreamHandle stream() const;
  // The same for what has no order with work that is kept back.
  StreamHandle stream_itself() const { return stream_; }
  // Held while the stream is captured: what other threads give to it meanwhile would become part of the
  // graph.
  std::mutex& capture_mutex() { return capture_mutex_; }
  int attribute(int which) const;  // of the card, as cuDeviceGetAttribute gives it
  std::int64_t multiprocessors() const { return multiprocessors_; }
  bool has_pools() const { return has_pools_; }  // does the driver give memory in the order of a stream?

  // What a call of the driver gave: throws OpError unless it is success. OutOfMemory says what the call was
  // for. After an error that leaves no context usable the card is lost.
  void check(std::string_view entry, Result result);
  // Says as `check` does, but only notes that a card is lost: for what must not throw.
  void note(Result result) noexcept;
  bool is_lost() const { return lost_.load(std::memory_order_relaxed) != kSuccess; }

  // Until the work is done that the stream was given. Ctrl-C ends the wait, not the work. Throws OpError for
  // what kernels refused or failed at.
  void synchronize();
  // The same until this event came.
  void wait(EventHandle event);

 private:
  Context(Device device, const Card& card);
  [[noreturn]] void refuse_lost() const;
  void make_current();
  void wait_for(std::string_view entry, Result (*query)(const Context& context, void* handle), void* handle);

  Device device_;
  const Card& card_;
  ContextHandle handle_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::mutex capture_mutex_;
  bool has_pools_ = false;
  std::int64_t multiprocessors_ = 1;
  std::atomic<Result> lost_{kSuccess};  // the error that it was lost by
};

// An event, for as long as the object lives. It belongs to the context that was current when it was made.
class Event {
 public:
  explicit Event(Context& context);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  EventHandle handle() const { return handle_; }
  void record();                          // after all that the stream was given so far
  void hold(const Context& other) const;  // makes the other card's stream wait for it

 private:
  Context& context_;
  EventHandle handle_ = nullptr;
};

}  // namespace kiln::cuda
