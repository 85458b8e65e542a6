#include "interpreter/host/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "interpreter/host/live_curve.h"
#include "interpreter/values/native_stack.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "lang/utf8.h"

namespace kiln::interp::host {
namespace {

constexpr double kRedrawEvery = 0.1;  // seconds

std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{:02}:{:02}", s / 60, s % 60);
}

std::string bar_text(double share, int width) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::int64_t>(share * width * 8);
  std::string bar;
  for (std::int64_t i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kParts[static_cast<std::size_t>(eighths % 8)];
  const std::int64_t missing = width - code_point_count(bar);
  bar.append(static_cast<std::size_t>(std::max<std::int64_t>(missing, 0)), ' ');
  return bar;
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at))
    columns += lang::display_width(code_point_at(text, at));
  return columns;
}

// The beginning of a text that fits so many columns.
std::string cut(const std::string& text, int columns) {
  for (std::size_t at = 0; at < text.size(); at += code_point_bytes(text, at)) {
    columns -= lang::display_width(code_point_at(text, at));
    if (columns < 0) return text.substr(0, at);
  }
  return text;
}

std::string rate_text(double per_second) {
  if (per_second >= 1 || per_second <= 0) return fmt::format("{:.0f}/s", per_second);
  return fmt::format("{:.1f} s each", 1 / per_second);
}

// How many items there will be; -1 when the iterable does not say.
std::int64_t total_of(Interpreter& interpreter, const Value& xs, const Value& given) {
  if (!given.is_none()) return int_argument(given, "total");
  switch (xs.tag()) {
    case Tag::List:
    case Tag::Tuple:
      return static_cast<std::int64_t>(items_of(xs)->size());
    case Tag::Dict:
    case Tag::Set:
      return static_cast<std::int64_t>(xs.as<Dict>().size());
    case Tag::Range:
      return xs.as<Range>().iterations();
    case Tag::Tensor:
      return xs.as_tensor().rank() > 0 ? xs.as_tensor().size(0) : -1;
    case Tag::Instance:
      if (const Value* method = xs.as<Instance>().struct_type().method("len")) {
        return int_argument(interpreter.call(*method, {xs}), "len");
      }
      return -1;
    default:
      return -1;
  }
}

// Lines that are broken would not be drawn over.
int line_width() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return std::min(print_options().width, is_known ? int{size.ws_col} : print_options().width) - 1;
}

// Is there a terminal, or what stands for it?
bool shows_bars(const Interpreter& interpreter) {
  return interpreter.options().frontend.show_lines || ::isatty(STDERR_FILENO) == 1;
}

// Redraws one line of what shows bars.
class Bar {
 public:
  Bar(std::string description, std::int64_t total, Value curve) : curve_(std::move(curve)) {
    state_.description = std::move(description);
    state_.total = total;
  }
  // A loop that was left early leaves its bar as it is.
  ~Bar() {
    if (drawn_by_ != nullptr) drawn_by_->finish(this);
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void advance(Interpreter& interpreter) {
    ++state_.done;
    draw(interpreter, false);
  }
  void finish(Interpreter& interpreter) {
    if (std::exchange(finished_, true)) return;
    draw(interpreter, true);
    if (drawn_by_ != nullptr) std::exchange(drawn_by_, nullptr)->finish(this);
  }
  void start(Interpreter& interpreter) {
    if (std::exchange(started_, true)) return;
    begin_ = std::chrono::steady_clock::now();
    draw(interpreter, true);
  }
  void visit_references(ReferenceVisitor& visitor) const { curve_.visit_references(visitor); }

 private:
  void draw(Interpreter& interpreter, bool now) {
    state_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (!now && state_.seconds - drawn_ < kRedrawEvery) return;
    drawn_ = state_.seconds;
    interpreter.flush();
    const int width = line_width();
    std::vector<std::string> lines{progress_line(state_, width)};
    for (std::string& line : curve_.lines(interpreter, width)) lines.push_back(std::move(line));
    drawn_by_ = &interpreter.impl().live_lines;
    drawn_by_->draw(this, std::move(lines));
  }

  ProgressState state_;
  LiveCurve curve_;
  LiveLines* drawn_by_ = nullptr;  // null: it is not on the screen
  bool started_ = false;
  bool finished_ = false;
  double drawn_ = -1;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

std::string progress_line(const ProgressState& state, int width) {
  const std::string prefix = state.description.empty() ? "" : state.description + ": ";
  const double rate = state.seconds > 0 ? static_cast<double>(state.done) / state.seconds : 0;
  if (state.total < 0) {
    return cut(
        fmt::format("{}{} items {}, {}", prefix, state.done, clock_text(state.seconds), rate_text(rate)),
        width);
  }
  const double share =
      state.total == 0 ? 1.0
                       : std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  const std::string left =
      rate > 0 ? clock_text(static_cast<double>(std::max<std::int64_t>(state.total - state.done, 0)) / rate)
               : "?";
  const std::string start = fmt::format("{}{:3.0f}%|", prefix, share * 100);
  const std::string end = fmt::format("| {}/{} {}<{}, {}", state.done, state.total, clock_text(state.seconds),
                                      left, rate_text(rate));
  const int room = width - columns_of(start) - columns_of(end);
  constexpr int kShortest = 4, kLongest = 40;
  if (room >= kShortest) return start + bar_text(share, std::min(room, kLongest)) + end;
  return cut(fmt::format("{}{:.0f}% {}/{}", prefix, share * 100, state.done, state.total), width);
}

Value progress(Interpreter& interpreter, std::span<Value> a) {
  auto bar = std::make_shared<Bar>(text_argument(a[1], "desc"), total_of(interpreter, a[0], a[2]), a[3]);
  if (!shows_bars(interpreter)) return make_iterator(interpreter, a[0]);
  const auto next = [](const std::shared_ptr<Bar>& held, const Value& it, bool& first, Interpreter& own,
                       Value& out) {
    held->start(own);
    if (!std::exchange(first, false)) held->advance(own);  // the item before was worked on
    if (kiln::interp::advance(own, it, out)) return true;
    held->finish(own);
    return false;
  };
  return make<Iterator>("progress", holding(next, bar, make_iterator(interpreter, a[0]), true));
}

}  // namespace kiln::interp::host
