#include "interpreter/trace_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kiln::interp {
namespace {

using kiln::timeline::Event;
using kiln::timeline::Kind;

constexpr double kMicrosecond = 1e-3;  // in nanoseconds

std::string quoted_json(const std::string& text) {
  using Json = nlohmann::json;
  const bool is_plain = std::all_of(text.begin(), text.end(),
                                    [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain) return '"' + text + '"';
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes the events of one process.
class Writer {
 public:
  explicit Writer(const TracedProcess& process) : process_(process) {}

  std::string text(const std::vector<Event>& events) {
    add_process();
    for (const Event& each : events) {
      if (each.kind == Kind::Line) continue;
      if (each.thread == kiln::timeline::kBeside) {
        add_pair(each);
      } else {
        add_span(each);
      }
    }
    for (int k = 0; k < threads_; ++k) add_thread(k);
    add_counter(events);
    return std::move(text_);
  }

 private:
  void add(const std::string& event) { text_ += (text_.empty() ? "" : ",\n") + event; }
  double at(std::int64_t time) const { return static_cast<double>(time + process_.begin) * kMicrosecond; }
  // Perfetto takes tracks of one number for one track, whichever processes they are of.
  int track(int thread) const { return kMostThreads * process_.number + thread + 1; }

  void add_process() {
    add(fmt::format(R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":{1}}}}},
{{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})",
                    process_.number, quoted_json(process_.name)));
  }

  void add_thread(int thread) {
    add(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                    process_.number, track(thread),
                    thread == 0 ? "the program" : fmt::format("thread {}", thread)));
  }

  void add_span(const Event& event) {
    threads_ = std::max(threads_, event.thread + 1);
    std::string facts;
    const auto say = [&facts](std::string_view name, const std::string& fact) {
      facts += fmt::format(R"({}"{}":{})", facts.empty() ? R"(,"args":{)" : ",", name, fact);
    };
    if (event.line.file != nullptr)
      say("line", quoted_json(fmt::format("{}:{}", *event.line.file, event.line.number)));
    if (event.work.bytes >= 0) say("bytes", std::to_string(event.work.bytes));
    if (event.work.flops >= 0) say("flops", std::to_string(event.work.flops));
    if (!facts.empty()) facts += '}';
    add(fmt::format(R"({{"name":{},"cat":"{}","ph":"X","ts":{:.3f},"dur":{:.3f},"pid":{},"tid":{}{}}})",
                    quoted_json(event.name), kiln::timeline::name(event.kind), at(event.begin),
                    static_cast<double>(event.duration()) * kMicrosecond, process_.number,
                    track(event.thread), facts));
  }

  // Such spans may overlap, which those of one track may not.
  void add_pair(const Event& event) {
    ++pairs_;
    for (const auto& [letter, time] : {std::pair('b', event.begin), std::pair('e', event.end)}) {
      add(fmt::format(
          R"({{"name":{},"cat":"{}","ph":"{}","id":"{}.{}","ts":{:.3f},"pid":{},"tid":{},"args":{{"of":{}}}}})",
          quoted_json(event.phase), kiln::timeline::name(event.kind), letter, process_.number, pairs_,
          at(time), process_.number, track(0), quoted_json(event.name)));
    }
  }

  // A step where it changes, in the order of time over all threads.
  void add_counter(const std::vector<Event>& events) {
    std::vector<std::pair<std::int64_t, std::int64_t>> samples;
    for (const Event& each : events)
      if (each.live_bytes >= 0) samples.emplace_back(each.end, each.live_bytes);
    std::sort(samples.begin(), samples.end());
    std::int64_t last = -1;
    for (const auto& [time, bytes] : samples) {
      if (bytes == last) continue;
      last = bytes;
      add(fmt::format(
          R"({{"name":"bytes of live tensors","ph":"C","ts":{:.3f},"pid":{},"args":{{"bytes":{}}}}})",
          at(time), process_.number, bytes));
    }
  }

  static constexpr int kMostThreads = 1000;
  const TracedProcess& process_;
  std::string text_;
  int threads_ = 1;
  int pairs_ = 0;
};

}  // namespace

std::string trace_events(const std::vector<Event>& events, const TracedProcess& process) {
  return Writer(process).text(events);
}

std::string trace_of(const std::vector<std::string>& processes) {
  std::string all;
  for (const std::string& each : processes) all += (all.empty() ? "" : ",\n") + each;
  return "{\"traceEvents\":[\n" + all + "\n],\"displayTimeUnit\":\"ns\"}\n";
}

std::string trace_text(const std::vector<Event>& events) { return trace_of({trace_events(events, {})}); }

}  // namespace kiln::interp
