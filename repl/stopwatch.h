// Owns the timing of an expression that is run again and again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"
#include "tensor/timeline.h"

namespace kiln::repl {

// A text as a function without parameters, which gives the value of its last expression, called many times in
// a row with that value kept alive, so that no part of the work is in vain. Names that the text assigns are
// local to it. What the call of a function takes is left out of all times.
class Stopwatch {
 public:
  // Throws UserError (SyntaxError) for text that does not parse.
  Stopwatch(Session& session, std::string_view text);
  // Of the calls of a function without parameters.
  Stopwatch(Session& session, interp::Value body);

  // Runs until nothing is compiled any more, and decides how many loops take `seconds`. Throws what the text
  // throws.
  void warm_up(double seconds);
  // The seconds of one loop, over as many as `warm_up` decided. A run in which something was compiled does
  // not count and is done again.
  double run();

  std::int64_t loops() const { return loops_; }
  // What was spent until it ran at its pace: "capture 1.2 ms, kernels 40 ms"; empty: nothing.
  std::string spent_before() const;

 private:
  double seconds_of(std::int64_t loops);
  bool compiled(const std::vector<timeline::Event>& events);

  Session& session_;
  interp::Value body_;
  double call_ = 0;  // seconds of a call of an empty function
  std::int64_t loops_ = 1;
  double capture_ = 0, kernels_ = 0;
};

// Of the runs of one expression: the middle one, the first and the last when they are in order.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread spread_of(std::vector<double> runs);
inline constexpr int kRuns = 7;
// Of kRuns runs, once it is warm.
Spread time_of(Stopwatch& watch);

// The ratio of the times of two expressions that ran in turns: its median over the pairs, and an interval
// that holds the true median in 95 of 100 measurements (order statistics of the binomial distribution, for 8
// pairs and more).
struct Ratio {
  double median = 0, low = 0, high = 0;
};
Ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b);
struct Comparison {
  Spread first, second;
  Ratio ratio;
};
// Runs both in turns, so that what else the machine does falls on both.
Comparison compare(Stopwatch& first, Stopwatch& second);

}  // namespace kiln::repl
