#include "interpreter/vm/worth.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kiln::interp::capture {
namespace {

// The expected time of the next capture: of a short one, and of one that solves for sizes.
constexpr std::chrono::microseconds kPlain{1'000}, kSymbolic{20'000};

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

void Trial::arrive(Clock::time_point now) {
  const double passed = std::chrono::duration<double>(now - latest_).count() / iterations_;
  latest_ = now;
  const Way way = std::exchange(now_, Way::None);
  if (is_over() || way != kTurns[turn_]) return;
  times_[count_++] = passed;
  if (count_ < kTimes) return;
  std::nth_element(times_.begin(), times_.begin() + kTimes / 2, times_.end());
  sums_[way == Way::Compiled ? 0 : 1] += times_[kTimes / 2];
  count_ = 0;
  ++turn_;
}

std::string Trial::verdict() const {
  const auto [compiled, interpreted] = sums_;
  if (compiled <= interpreted) return "";
  constexpr double kOf = kTurns.size() / 2;
  return fmt::format("it took {:.2f} times as long compiled ({}, in the interpreter {})",
                     compiled / interpreted, time_text(compiled / kOf), time_text(interpreted / kOf));
}

}  // namespace kiln::interp::capture
