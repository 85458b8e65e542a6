#include "interpreter/profile.h"

#include <algorithm>
#include <map>
#include <tuple>

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

}  // namespace

Profile profile_of(std::vector<Event> events, double total) {
  Profile profile;
  profile.total = total;
  const std::vector<std::int64_t> own = kiln::timeline::own_times(events);
  std::map<std::pair<std::string, bool>, Profile::Op> ops;
  std::map<std::pair<std::string, int>, Profile::Line> lines;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const double seconds = static_cast<double>(own[i]) * kNanosecond;
    if (event.thread != 0) {
      if (event.kind == Kind::Compile) profile.compiled_behind += seconds;
      continue;
    }
    profile.phases[static_cast<std::size_t>(event.kind)] += seconds;
    if (!is_op(event.kind)) continue;
    const bool is_compiled = event.kind == Kind::Kernel;
    Profile::Op& op = ops[{event.name, is_compiled}];
    op.name = event.name;
    op.is_compiled = is_compiled;
    ++op.calls;
    op.seconds += seconds;
    if (event.line.file == nullptr) continue;
    Profile::Line& line = lines[{*event.line.file, event.line.number}];
    line.file = *event.line.file;
    line.number = event.line.number;
    ++line.calls;
    line.seconds += seconds;
  }
  profile.ops = longest_first(ops);
  profile.lines = longest_first(lines);
  profile.events = std::move(events);
  return profile;
}

std::string trace_text(const std::vector<Event>& events) {
  using Json = nlohmann::ordered_json;
  constexpr double kMicrosecond = 1e-3;  // in nanoseconds
  Json all = Json::array();
  int threads = 0;
  for (const Event& each : events) {
    threads = std::max(threads, each.thread + 1);
    Json event{{"name", each.name},
               {"cat", kiln::timeline::name(each.kind)},
               {"ph", "X"},
               {"ts", static_cast<double>(each.begin) * kMicrosecond},
               {"dur", static_cast<double>(each.duration()) * kMicrosecond},
               {"pid", 1},
               {"tid", each.thread + 1}};
    if (each.line.file != nullptr)
      event["args"] = {{"line", *each.line.file + ":" + std::to_string(each.line.number)}};
    all.push_back(std::move(event));
  }
  for (int k = 0; k < threads; ++k) {
    const std::string name = k == 0 ? "the program" : "thread " + std::to_string(k);
    all.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", k + 1}, {"args", {{"name", name}}}});
  }
  const Json trace{{"traceEvents", std::move(all)}, {"displayTimeUnit", "ns"}};
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kiln::interp
