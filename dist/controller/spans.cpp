#include "dist/controller/spans.h"

#include <chrono>
#include <utility>

#include "tensor/timeline.h"

namespace kiln::dist {

void Spans::start() {
  const std::lock_guard lock(mutex_);
  is_recording_ = true;
  spans_.clear();
}

std::vector<CommunicationSpan> Spans::stop() {
  const std::lock_guard lock(mutex_);
  is_recording_ = false;
  return std::exchange(spans_, {});
}

bool Spans::are_recorded() const {
  if (timeline::records(timeline::Detail::Ops)) return true;
  const std::lock_guard lock(mutex_);
  return is_recording_;
}

void Spans::add(CommunicationSpan span) {
  timeline::tell_beside(span.name, span.phase, span.begin, span.end);
  const std::lock_guard lock(mutex_);
  if (is_recording_) spans_.push_back(std::move(span));
}

namespace {
thread_local std::vector<PerformedPhase> phases;
}  // namespace

void begin_phase(std::string_view name) { phases.push_back({name, microseconds_now()}); }

std::vector<PerformedPhase> take_phases() { return std::exchange(phases, {}); }

std::int64_t microseconds_now() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace kiln::dist
