// The fake driver: streams and events. A stream does its work within the call that gives it, so it is always
// done.
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/state.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

template <class Body>
Result use_stream(std::string_view entry, StreamHandle stream, const Body& body) {
  return enter(entry, Needs::Context,
               [&] { return is_stream(stream) ? static_cast<int>(body()) : kInvalidHandle; });
}

template <class Body>
Result use_event(std::string_view entry, EventHandle event, const Body& body) {
  return enter(entry, Needs::Context,
               [&] { return is_event(event) ? static_cast<int>(body()) : kInvalidHandle; });
}

}  // namespace

extern "C" {

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return enter("cuStreamCreate", Needs::Context, [&] {
    if (stream == nullptr || (flags & ~static_cast<unsigned>(kStreamNonBlocking)) != 0) return kInvalidValue;
    *stream = new StreamData{current_context()};
    state().streams.insert(*stream);
    return kSuccess;
  });
}

Result cuStreamDestroy_v2(StreamHandle stream) {
  return use_stream("cuStreamDestroy_v2", stream, [&] {
    if (stream == nullptr) return kInvalidHandle;
    state().streams.erase(stream);
    delete stream;
    return kSuccess;
  });
}

Result cuStreamSynchronize(StreamHandle stream) {
  return use_stream("cuStreamSynchronize", stream, [] { return kSuccess; });
}
Result cuStreamQuery(StreamHandle stream) {
  return use_stream("cuStreamQuery", stream, [] { return kSuccess; });
}
Result cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags) {
  return use_stream("cuStreamWaitEvent", stream, [&] {
    if (!is_event(event)) return kInvalidHandle;
    return flags == 0 ? kSuccess : kInvalidValue;
  });
}

Result cuEventCreate(EventHandle* event, unsigned flags) {
  return enter("cuEventCreate", Needs::Context, [&] {
    constexpr unsigned kKnown = kEventBlockingSync | kEventDisableTiming;
    if (event == nullptr || (flags & ~kKnown) != 0) return kInvalidValue;
    *event = new EventData{current_context(), (flags & kEventDisableTiming) == 0};
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

Result cuEventRecord(EventHandle event, StreamHandle stream) {
  return use_event("cuEventRecord", event, [&] {
    if (!is_stream(stream)) return kInvalidHandle;
    event->is_recorded = true;
    event->time = std::chrono::steady_clock::now();
    return kSuccess;
  });
}

Result cuEventQuery(EventHandle event) {
  return use_event("cuEventQuery", event, [] { return kSuccess; });
}
Result cuEventSynchronize(EventHandle event) {
  return use_event("cuEventSynchronize", event, [] { return kSuccess; });
}

Result cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  return use_event("cuEventElapsedTime", start, [&] {
    if (milliseconds == nullptr) return kInvalidValue;
    if (!is_event(end)) return kInvalidHandle;
    for (const EventHandle event : {start, end}) {
      if (!event->keeps_time || !event->is_recorded) return kInvalidHandle;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return kSuccess;
  });
}

}  // extern "C"
}  // namespace kiln::cuda
