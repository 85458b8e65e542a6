#include "interpreter/vm/worth.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace kiln::interp::capture {
namespace {

// The expected time of the next capture: of a short one, and of one that solves for sizes.
constexpr std::chrono::microseconds kPlain{1'000}, kSymbolic{20'000};

constexpr std::size_t kFewTimes = 3;  // of the interpreter, that tell whether it takes much longer
constexpr double kMuch = 4;           // times as long as an entry
constexpr double kClear = 1.5;        // times as long ends a trial in its middle
constexpr double kWorse = 1.02;       // up to so many times as long as the interpreter, an entry is kept

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} µs", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
}

}  // namespace

bool CaptureBudget::allows(bool symbolic, Clock::time_point now) const {
  if (share_ == 0) return true;
  const std::chrono::duration<double> so_far = now - began_;
  const std::chrono::duration<double> then = spent_ + (symbolic ? kSymbolic : kPlain);
  return then <= share_ * so_far;
}

// To ask for the thread's work takes longer than a short iteration, and is no part of it: all that it took so
// far is taken off both clocks. Where it took much longer, other programs ran.
Moment Moment::now() {
  constexpr std::chrono::nanoseconds kLongest{5'000};
  static thread_local std::chrono::nanoseconds asked{0};
  const Clock::time_point before = Clock::now();
  timespec worked{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
  const Clock::time_point after = Clock::now();
  asked += std::min<std::chrono::nanoseconds>(after - before, kLongest);
  return {after - asked,
          std::chrono::seconds(worked.tv_sec) + std::chrono::nanoseconds(worked.tv_nsec) - asked};
}

void Trial::arrive(const Moment& now) {
  const auto seconds = [this](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count() / iterations_;
  };
  const std::array<double, kClocks> passed{seconds(now.at - latest_.at),
                                           seconds(now.worked - latest_.worked)};
  latest_ = now;
  const Way way = std::exchange(now_, Way::None);
  if (is_over() || way != kTurns[turn_]) return;
  for (std::size_t clock = 0; clock < kClocks; ++clock) times_[clock][count_] = passed[clock];
  ++count_;
  if (way == Way::Interpreted && count_ == kFewTimes && is_much_slower_interpreted()) is_clear_ = true;
  if (count_ == kTimes) end_turn(way);
}

// The first times of the interpreter are enough where each is a multiple of what an entry takes: then the
// rest of the trial would take long.
bool Trial::is_much_slower_interpreted() const {
  if (turn_ != 1) return false;
  for (std::size_t clock = 0; clock < kClocks; ++clock) {
    const double least = *std::min_element(times_[clock].begin(), times_[clock].begin() + kFewTimes);
    if (least < kMuch * sums_[clock][0]) return false;
  }
  return true;
}

void Trial::end_turn(Way way) {
  for (std::size_t clock = 0; clock < kClocks; ++clock) {
    std::array<double, kTimes>& times = times_[clock];
    std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
    sums_[clock][static_cast<std::size_t>(way)] += times[kTimes / 2];
  }
  count_ = 0;
  ++turn_;
  // In the middle each had as many turns, in an order that is the same backwards.
  if (turn_ != kTurns.size() / 2) return;
  const auto [least, most] = std::minmax({ratio(0), ratio(1)});
  is_clear_ = most < 1 / kClear || least > kClear;
}

double Trial::ratio(std::size_t clock) const { return sums_[clock][0] / std::max(sums_[clock][1], 1e-12); }

std::string Trial::verdict() const {
  if (turn_ < kTurns.size() / 2)
    return "";  // it ended before that only where the interpreter was much slower
  const std::size_t clock = ratio(0) < ratio(1) ? 0 : 1;
  if (ratio(clock) <= kWorse) return "";
  const double of = static_cast<double>(turn_) / 2;
  return fmt::format("it took {:.2f} times as long compiled ({}, in the interpreter {})", ratio(clock),
                     time_text(sums_[clock][0] / of), time_text(sums_[clock][1] / of));
}

}  // namespace kiln::interp::capture
