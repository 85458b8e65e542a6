#include "repl/stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "interpreter/compile/returning.h"
#include "interpreter/profile.h"
#include "repl/command.h"
#include "repl/units.h"
#include "tensor/backend.h"

namespace kiln::repl {
namespace {

using Clock = std::chrono::steady_clock;
using timeline::Detail;
using timeline::Kind;
using timeline::Recording;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr double kRound = 0.1;    // seconds of one round of the warm-up
constexpr int kMostRounds = 50;   // something that is compiled for ever is not waited for
constexpr int kMostRepeated = 5;  // runs that do not count since something was compiled

interp::Value function_of(Session& session, const std::string& body) {
  return session.run("fn () {\n" + body + "\n}").value;
}

double seconds_of_calls(Session& session, const interp::Value& body, std::int64_t count) {
  interp::Value kept;
  const Clock::time_point start = Clock::now();
  for (std::int64_t k = 0; k < count; ++k) kept = session.interpreter().call(body, {});
  synchronize_devices();
  return seconds_since(start);
}

double empty_call(Session& session) {
  constexpr std::int64_t kCalls = 20'000;
  const interp::Value body = function_of(session, "return none");
  double best = seconds_of_calls(session, body, kCalls);
  for (int k = 0; k < 4; ++k) best = std::min(best, seconds_of_calls(session, body, kCalls));
  return best / kCalls;
}

}  // namespace

Stopwatch::Stopwatch(Session& session, std::string_view text)
    : Stopwatch(session, function_of(session, interp::returning(session.interpreter().sources().add(
                                                  session.entry_name(), std::string(text))))) {}

Stopwatch::Stopwatch(Session& session, interp::Value body)
    : session_(session), body_(std::move(body)), call_(empty_call(session)) {}

double Stopwatch::seconds_of(std::int64_t loops) { return seconds_of_calls(session_, body_, loops); }

bool Stopwatch::compiled(const std::vector<timeline::Event>& events) {
  const interp::Profile profile = interp::profile_of(events, 0);
  const double kernels = profile.phase(Kind::Compile) + profile.phase(Kind::Wait) + profile.compiled_behind;
  capture_ += profile.phase(Kind::Capture);
  kernels_ += kernels;
  return profile.phase(Kind::Capture) + kernels > 0;
}

void Stopwatch::warm_up(double seconds) {
  Recording recording(Detail::Phases);
  std::int64_t loops = 1;
  double took = 0;
  bool is_quiet = false;
  for (int round = 0; round < kMostRounds && !is_quiet; ++round) {
    took = seconds_of(loops);
    const bool is_short = took < kRound && loops < (std::int64_t{1} << 40);
    is_quiet = !compiled(recording.take()) && !timeline::is_compiling() && !is_short;
    if (is_short)
      loops = std::max(
          loops * 2,
          std::min(loops * 100, static_cast<std::int64_t>(kRound * 1.2 / took * static_cast<double>(loops))));
  }
  const double one = took / static_cast<double>(loops);
  loops_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(seconds / one)));
}

double Stopwatch::run() {
  Recording recording(Detail::Phases);
  double took = seconds_of(loops_);
  for (int again = 0; again < kMostRepeated && compiled(recording.take()); ++again) took = seconds_of(loops_);
  return std::max(0.0, took / static_cast<double>(loops_) - call_);
}

std::string Stopwatch::spent_before() const {
  std::string text;
  if (capture_ > 0) text += "capture " + duration_text(capture_);
  if (kernels_ > 0) text += (text.empty() ? "kernels " : ", kernels ") + duration_text(kernels_);
  return text;
}

Spread spread_of(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  return {runs[runs.size() / 2], runs.front(), runs.back()};
}

Spread time_of(Stopwatch& watch) {
  constexpr double kRun = 0.1;  // seconds of one run: the clock then weighs nothing
  watch.warm_up(kRun);
  std::vector<double> runs(kRuns);
  for (double& run : runs) run = watch.run();
  return spread_of(std::move(runs));
}

Ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < a.size(); ++k) ratios.push_back(a[k] / b[k]);
  std::sort(ratios.begin(), ratios.end());
  const double count = static_cast<double>(ratios.size());
  // The ranks of a 95 % interval of the median: half the count less 1.96 half square roots of it.
  const double rank = std::floor((count - 1.96 * std::sqrt(count)) / 2);
  const auto low = static_cast<std::size_t>(std::max(rank, 0.0));
  return {ratios[ratios.size() / 2], ratios[low], ratios[ratios.size() - 1 - low]};
}

Comparison compare(Stopwatch& first, Stopwatch& second) {
  constexpr int kPairs = 15;
  constexpr double kHalf = 0.05;  // seconds of each half of a pair
  first.warm_up(kHalf);
  second.warm_up(kHalf);
  std::vector<double> of_first(kPairs), of_second(kPairs);
  for (std::size_t k = 0; k < of_first.size(); ++k) {
    of_first[k] = first.run();
    of_second[k] = second.run();
  }
  const Ratio ratio = ratio_of(of_first, of_second);
  return {spread_of(std::move(of_first)), spread_of(std::move(of_second)), ratio};
}

}  // namespace kiln::repl
