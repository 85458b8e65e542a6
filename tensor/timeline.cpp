#include "tensor/timeline.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "tensor/device_memory.h"
#include "tensor/error.h"

namespace kiln::timeline {
namespace {

using Clock = std::chrono::steady_clock;

// What one thread has told. It outlives its thread.
struct Told {
  std::mutex mutex;
  std::vector<Event> events;
};

struct State {
  std::mutex mutex;
  std::vector<std::shared_ptr<Told>> threads;
  std::set<std::string, std::less<>> files;
  std::function<Line()> line_source;
  std::atomic<std::int64_t> number{0};  // of the recording
  std::atomic<Clock::rep> start{0};
  std::atomic<std::int64_t> start_since_1970{0};  // nanoseconds, as `start` is
  std::atomic<int> compiling{0};                  // spans of compilation that are open
  std::mutex watch_mutex;
  int watches = 0;
  std::vector<Phase> watched;  // under way on the thread of the watches
};
State& state() {
  static State only;
  return only;
}

template <class AnyClock>
std::int64_t nanoseconds_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(AnyClock::now().time_since_epoch()).count();
}

std::int64_t now() { return nanoseconds_of<Clock>() - state().start.load(std::memory_order_relaxed); }

struct Mine {
  std::shared_ptr<Told> told;
  std::int64_t recording = -1;
  int thread = 0;
  const Event* innermost = nullptr;
};
thread_local Mine mine;
thread_local bool is_watched_thread = false;

// A thread has a list of its own in each recording.
Mine& joined() {
  State& all = state();
  const std::int64_t recording = all.number.load(std::memory_order_acquire);
  if (mine.recording == recording) return mine;
  const std::lock_guard lock(all.mutex);
  mine.told = std::make_shared<Told>();
  mine.recording = recording;
  mine.thread = static_cast<int>(all.threads.size());
  mine.innermost = nullptr;
  all.threads.push_back(mine.told);
  return mine;
}

void keep(const Mine& thread, Event event) {
  const std::lock_guard lock(thread.told->mutex);
  thread.told->events.push_back(std::move(event));
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::Parse:
      return "parse";
    case Kind::Bytecode:
      return "bytecode";
    case Kind::Run:
      return "run";
    case Kind::Capture:
      return "capture";
    case Kind::Compile:
      return "compile";
    case Kind::Wait:
      return "wait";
    case Kind::Op:
      return "op";
    case Kind::Kernel:
      return "kernel";
    case Kind::Collective:
      return "collective";
    case Kind::Line:
      return "line";
    case Kind::Share:
      break;
  }
  return "share";
}

Line line_of(std::string_view file, int number) {
  if (file.empty()) return {};
  thread_local const std::string* latest = nullptr;
  if (latest == nullptr || *latest != file) {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    auto found = all.files.find(file);
    if (found == all.files.end()) found = all.files.emplace(file).first;
    latest = &*found;
  }
  return {latest, number};
}

void set_line_source(std::function<Line()> source) { state().line_source = std::move(source); }

void mark(const Line& line) {
  if (!records(Detail::Ops)) return;
  const Mine& thread = joined();
  Event event;
  event.kind = Kind::Line;
  event.line = line;
  event.thread = thread.thread;
  event.begin = event.end = now();
  keep(thread, std::move(event));
}

void tell_beside(std::string name, std::string phase, std::int64_t begin, std::int64_t end) {
  if (!records(Detail::Ops)) return;
  constexpr std::int64_t kMicrosecond = 1000;  // nanoseconds
  const std::int64_t start = state().start_since_1970.load(std::memory_order_relaxed);
  Event event;
  event.kind = Kind::Collective;
  event.name = std::move(name);
  event.phase = std::move(phase);
  event.thread = kBeside;
  event.begin = begin * kMicrosecond - start;
  event.end = end * kMicrosecond - start;
  keep(joined(), std::move(event));
}

Recording::Recording(Detail detail) {
  State& all = state();
  {
    const std::lock_guard lock(all.mutex);
    if (records(Detail::Phases))
      throw OpError(ErrorKind::Value, "time is being recorded already", {},
                    "end the recording around this one");
    all.threads.clear();
    all.start = began_ = nanoseconds_of<Clock>();
    all.start_since_1970 = nanoseconds_of<std::chrono::system_clock>();
    all.number.fetch_add(1, std::memory_order_release);
    const std::lock_guard watch(all.watch_mutex);
    detail::wanted = detail;
  }
  joined();
}

Recording::~Recording() { static_cast<void>(stop()); }

std::vector<Event> Recording::stop() {
  State& all = state();
  {
    const std::lock_guard lock(all.watch_mutex);
    detail::wanted = all.watches > 0 ? Detail::Names : Detail::None;
  }
  return take();
}

std::vector<Event> Recording::take() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  std::vector<Event> events;
  for (const auto& each : all.threads) {
    const std::lock_guard told(each->mutex);
    std::move(each->events.begin(), each->events.end(), std::back_inserter(events));
    each->events.clear();
  }
  // An outer span ends after those inside of it, and so is taken down behind them.
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
  });
  return events;
}

PhaseWatch::PhaseWatch() {
  State& all = state();
  const std::lock_guard lock(all.watch_mutex);
  if (all.watches > 0 && !is_watched_thread)
    throw InternalError("phases of another thread are watched already");
  ++all.watches;
  is_watched_thread = true;
  if (!records(Detail::Names)) detail::wanted = Detail::Names;
}

PhaseWatch::~PhaseWatch() {
  State& all = state();
  const std::lock_guard lock(all.watch_mutex);
  if (--all.watches > 0) return;
  is_watched_thread = false;
  all.watched.clear();
  if (!records(Detail::Phases)) detail::wanted = Detail::None;
}

std::vector<Phase> PhaseWatch::open() const {
  State& all = state();
  const std::lock_guard lock(all.watch_mutex);
  return all.watched;
}

Parts::Parts(int count) : is_watched_(is_watched_thread) {
  if (!is_watched_) return;
  State& all = state();
  const std::lock_guard lock(all.watch_mutex);
  if (!all.watched.empty()) all.watched.back().parts = count;
}

void Parts::are_done(int some) const {
  if (!is_watched_) return;
  State& all = state();
  const std::lock_guard lock(all.watch_mutex);
  for (Phase& each : all.watched)
    if (each.parts > 0) each.done += some;
}

void Span::begin(Kind kind, std::string_view name, const Line* line) {
  if (is_watched_thread && kind < Kind::Op) {
    State& all = state();
    const std::lock_guard lock(all.watch_mutex);
    all.watched.push_back({kind, std::string(name)});
    is_watched_ = true;
  }
  if (!records(Detail::Phases)) return;
  Mine& thread = joined();
  const auto is_in = [&thread](Kind outer) {
    return thread.innermost != nullptr && thread.innermost->kind == outer;
  };
  // Of an op within a kernel the instruction is told that it belongs to.
  if (kind == Kind::Op && (is_in(Kind::Kernel) || !(records(Detail::Ops) || is_in(Kind::Capture)))) return;
  event_ = std::make_unique<Event>();
  event_->kind = kind;
  event_->name = name;
  if (line != nullptr) {
    event_->line = *line;
  } else if (const auto& ask = state().line_source; ask) {
    event_->line = ask();
  }
  event_->thread = thread.thread;
  outer_ = std::exchange(thread.innermost, event_.get());
  if (kind == Kind::Compile) ++state().compiling;
  event_->begin = now();
}

void Span::end() {
  if (is_watched_) {
    State& all = state();
    const std::lock_guard lock(all.watch_mutex);
    if (!all.watched.empty()) all.watched.pop_back();
  }
  if (event_ == nullptr) return;
  event_->end = now();
  if (event_->kind == Kind::Compile) --state().compiling;
  if (mine.innermost == event_.get()) mine.innermost = outer_;
  if (state().number.load(std::memory_order_acquire) != mine.recording || !records(Detail::Phases)) return;
  const bool computes = event_->kind == Kind::Op || event_->kind == Kind::Kernel;
  if (computes && records(Detail::Ops)) event_->live_bytes = static_cast<std::int64_t>(live_tensor_bytes());
  keep(mine, std::move(*event_));
}

bool is_compiling() { return state().compiling.load() > 0; }

const Event* innermost() { return records(Detail::Phases) ? joined().innermost : nullptr; }

std::vector<std::int64_t> own_times(const std::vector<Event>& events) {
  std::vector<std::int64_t> own;
  std::vector<std::size_t> around;  // the spans that are open, outermost first
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    while (!around.empty() &&
           (events[around.back()].thread != event.thread || events[around.back()].end < event.end))
      around.pop_back();
    if (!around.empty()) own[around.back()] -= event.duration();
    own.push_back(event.duration());
    around.push_back(i);
  }
  return own;
}

}  // namespace kiln::timeline
