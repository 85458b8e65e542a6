#include "interpreter/profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kiln::interp {
namespace {

using kiln::timeline::Event;
using kiln::timeline::Kind;

constexpr double kNanosecond = 1e-9;

bool is_op(Kind kind) { return kind == Kind::Op || kind == Kind::Kernel; }

template <class Rows>
auto longest_first(const Rows& by_key) {
  std::vector<typename Rows::mapped_type> rows;
  for (const auto& [key, row] : by_key) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return rows;
}

// The machine's own time by line: what of the spans of kind Run is in no span inside of them, up to each
// mark, goes to the mark's line. `events` are those of one thread.
class OwnTimeByLine {
 public:
  void add(const Event& event) {
    while (!open_.empty() && open_.back()->end <= event.begin) close();
    advance(event.begin);
    if (event.kind != Kind::Line) return open_.push_back(&event);
    latest_ = event.line;
    give();
  }
  // The rest goes to the line of the last mark.
  void finish() {
    while (!open_.empty()) close();
    give();
  }
  std::vector<std::pair<kiln::timeline::Line, std::int64_t>> lines;  // nanoseconds, in the order of marks

 private:
  void close() {
    advance(open_.back()->end);
    open_.pop_back();
  }
  void advance(std::int64_t to) {
    if (!open_.empty() && open_.back()->kind == Kind::Run) pending_ += to - now_;
    now_ = to;
  }
  void give() {
    if (latest_.file != nullptr) lines.emplace_back(latest_, std::exchange(pending_, 0));
  }

  std::vector<const Event*> open_;  // outermost first
  kiln::timeline::Line latest_;
  std::int64_t now_ = 0, pending_ = 0;
};

using Lines = std::map<std::pair<std::string, int>, Profile::Line>;

Profile::Line& line_among(Lines& lines, const kiln::timeline::Line& place) {
  Profile::Line& line = lines[{*place.file, place.number}];
  line.file = *place.file;
  line.number = place.number;
  return line;
}

}  // namespace

Profile profile_of(std::vector<Event> events, double total) {
  Profile profile;
  profile.total = total;
  const std::vector<std::int64_t> own = kiln::timeline::own_times(events);
  std::map<std::pair<std::string, bool>, Profile::Op> ops;
  Lines lines;
  OwnTimeByLine machine;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const double seconds = static_cast<double>(own[i]) * kNanosecond;
    if (event.thread != 0) {
      if (event.kind == Kind::Compile) profile.compiled_behind += seconds;
      continue;
    }
    machine.add(event);
    profile.phases[static_cast<std::size_t>(event.kind)] += seconds;
    if (!is_op(event.kind)) continue;
    const bool is_compiled = event.kind == Kind::Kernel;
    Profile::Op& op = ops[{event.name, is_compiled}];
    op.name = event.name;
    op.is_compiled = is_compiled;
    ++op.calls;
    op.seconds += seconds;
    if (event.line.file == nullptr) continue;
    Profile::Line& line = line_among(lines, event.line);
    ++line.calls;
    line.ops += seconds;
  }
  machine.finish();
  for (const auto& [place, nanoseconds] : machine.lines)
    line_among(lines, place).interpreter += static_cast<double>(nanoseconds) * kNanosecond;
  for (auto& [place, line] : lines) line.seconds = line.ops + line.interpreter;
  profile.ops = longest_first(ops);
  profile.lines = longest_first(lines);
  profile.events = std::move(events);
  return profile;
}

namespace {

std::string quoted_json(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string event_json(const Event& event) {
  constexpr double kMicrosecond = 1e-3;  // in nanoseconds
  const std::string line =
      event.line.file == nullptr
          ? ""
          : fmt::format(R"(,"args":{{"line":{}}})",
                        quoted_json(fmt::format("{}:{}", *event.line.file, event.line.number)));
  return fmt::format(R"({{"name":{},"cat":"{}","ph":"X","ts":{:.3f},"dur":{:.3f},"pid":1,"tid":{}{}}})",
                     quoted_json(event.name), kiln::timeline::name(event.kind),
                     static_cast<double>(event.begin) * kMicrosecond,
                     static_cast<double>(event.duration()) * kMicrosecond, event.thread + 1, line);
}

std::string thread_json(int thread) {
  return fmt::format(R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{"name":"{}"}}}})",
                     thread + 1, thread == 0 ? "the program" : fmt::format("thread {}", thread));
}

}  // namespace

std::string trace_text(const std::vector<Event>& events) {
  int threads = 1;
  std::string all;
  for (const Event& each : events) {
    threads = std::max(threads, each.thread + 1);
    if (each.kind == Kind::Line) continue;
    all += event_json(each) + ",\n";
  }
  for (int k = 0; k < threads; ++k) all += thread_json(k) + (k + 1 < threads ? ",\n" : "\n");
  return "{\"traceEvents\":[\n" + all + "],\"displayTimeUnit\":\"ns\"}\n";
}

}  // namespace kiln::interp
