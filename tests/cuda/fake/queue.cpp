// The fake driver: streams and events.
#include "tests/cuda/fake/capture.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

template <class Body>
Result use_event(std::string_view entry, EventHandle event, const Body& body) {
  return enter(entry, Needs::Context,
               [&] { return is_event(event) ? static_cast<int>(body()) : kInvalidHandle; });
}

// An event of a capture never comes, and asking for one may hold up captured work.
Result refuse_of(const EventData& event) {
  if (event.capture == nullptr) return refuse_unsafe();
  event.capture->is_invalid = true;
  return kCapturedEvent;
}

}  // namespace

extern "C" {

Result cuCtxSynchronize() {
  return enter_and_wait("cuCtxSynchronize", [](Moments& moments) {
    moments = ends_of(*current_context());
    return refuse_unsafe();
  });
}

// ---- Streams ---------------------------------------------------------------------------------------------

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return enter("cuStreamCreate", Needs::Context, [&] {
    if (stream == nullptr || (flags & ~static_cast<unsigned>(kStreamNonBlocking)) != 0) return kInvalidValue;
    *stream = make_stream(*current_context(), (flags & kStreamNonBlocking) == 0);
    state().streams.insert(*stream);
    return kSuccess;
  });
}

// What it was given is still done.
Result cuStreamDestroy_v2(StreamHandle handle) {
  return enter_stream("cuStreamDestroy_v2", handle, [&](StreamData& stream) {
    if (handle == nullptr) return kInvalidHandle;
    if (stream.capture != nullptr) stream.capture->is_invalid = true;
    Queue::retire(stream.queue);
    state().streams.erase(&stream);
    delete &stream;
    return kSuccess;
  });
}

Result cuStreamSynchronize(StreamHandle handle) {
  return enter_and_wait("cuStreamSynchronize", [&](Moments& moments) {
    StreamData* const stream = stream_of(handle);
    if (stream == nullptr) return kInvalidHandle;
    moments = {stream->queue->end()};
    return refuse_captured(*stream);
  });
}

Result cuStreamQuery(StreamHandle handle) {
  return enter_stream("cuStreamQuery", handle, [](StreamData& stream) {
    if (const Result refused = refuse_captured(stream); refused != kSuccess) return refused;
    return has_come(stream.queue->end()) ? settle(*stream.context) : kNotReady;
  });
}

// For the event as it was recorded last; one that never was holds nothing up.
Result cuStreamWaitEvent(StreamHandle handle, EventHandle event, unsigned flags) {
  return enter_stream("cuStreamWaitEvent", handle, [&](StreamData& stream) {
    if (!is_event(event)) return kInvalidHandle;
    if (flags != 0) return kInvalidValue;
    if (stream.capture != nullptr || event->capture != nullptr) return wait_captured(stream, *event);
    stream.queue->hold_until(event->moment);
    return kSuccess;
  });
}

// ---- Events ----------------------------------------------------------------------------------------------

Result cuEventCreate(EventHandle* event, unsigned flags) {
  return enter("cuEventCreate", Needs::Context, [&] {
    constexpr unsigned kKnown = kEventBlockingSync | kEventDisableTiming;
    if (event == nullptr || (flags & ~kKnown) != 0) return kInvalidValue;
    *event = new EventData;
    (*event)->context = current_context();
    (*event)->keeps_time = (flags & kEventDisableTiming) == 0;
    state().events.insert(*event);
    return kSuccess;
  });
}

Result cuEventDestroy_v2(EventHandle event) {
  return use_event("cuEventDestroy_v2", event, [&] {
    state().events.erase(event);
    delete event;
    return kSuccess;
  });
}

Result cuEventRecord(EventHandle event, StreamHandle handle) {
  return enter_stream("cuEventRecord", handle, [&](StreamData& stream) {
    if (!is_event(event) || stream.context != event->context) return kInvalidHandle;
    if (stream.capture != nullptr) return record_captured(stream, *event);
    event->is_recorded = true;
    event->capture = nullptr;
    event->moment = give_now(stream, nullptr);
    return kSuccess;
  });
}

Result cuEventQuery(EventHandle event) {
  return use_event("cuEventQuery", event, [&] {
    if (const Result refused = refuse_of(*event); refused != kSuccess) return refused;
    return has_come(event->moment) ? kSuccess : kNotReady;
  });
}

Result cuEventSynchronize(EventHandle event) {
  return enter_and_wait("cuEventSynchronize", [&](Moments& moments) {
    if (!is_event(event)) return kInvalidHandle;
    moments = {event->moment};
    return refuse_of(*event);
  });
}

Result cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  return use_event("cuEventElapsedTime", start, [&] {
    if (milliseconds == nullptr) return kInvalidValue;
    if (!is_event(end)) return kInvalidHandle;
    for (const EventHandle event : {start, end}) {
      if (!event->keeps_time || !event->is_recorded) return kInvalidHandle;
      if (!has_come(event->moment)) return kNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->moment->time - start->moment->time).count();
    return kSuccess;
  });
}

}  // extern "C"
}  // namespace kiln::cuda
