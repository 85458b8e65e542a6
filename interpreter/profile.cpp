#include "interpreter/profile.h"

#include <algorithm>
#include <map>
#include <utility>

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

}  // namespace kiln::interp
