// Commands that measure time: time timeit.
#include <fmt/format.h>

#include <array>
#include <chrono>

#include "interpreter/profile.h"
#include "repl/command.h"
#include "repl/stopwatch.h"
#include "repl/terminal.h"
#include "repl/units.h"
#include "repl/written_call.h"

namespace kiln::repl {
namespace {

using timeline::Kind;

// ---- :time ----

// What ran beside the program is told apart: the program did not wait for it.
std::string phases_text(const interp::Profile& profile) {
  std::string text = fmt::format("parse {}, compile {}", duration_text(profile.phase(Kind::Parse)),
                                 duration_text(profile.phase(Kind::Bytecode)));
  const auto add = [&text](std::string_view what, double seconds) {
    if (seconds > 0) text += fmt::format(", {} {}", what, duration_text(seconds));
  };
  add("capture", profile.phase(Kind::Capture));
  add("kernels", profile.phase(Kind::Compile));
  add("waiting for kernels", profile.phase(Kind::Wait));
  text += ", run " + duration_text(profile.phase(Kind::Run) + profile.all_ops());
  if (profile.compiled_behind > 0)
    text += fmt::format(", beside it kernels {}", duration_text(profile.compiled_behind));
  return text;
}

void time(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("time"), "give something to run");
  timeline::Recording recording(timeline::Detail::Phases);
  const interp::Interpreter::Outcome outcome = session.run(argument);
  const interp::Profile profile = interp::profile_of(recording.stop(), 0);
  if (outcome.has_value) session.show(outcome.value);
  session.write(phases_text(profile) + "\n");
}

// ---- :timeit ----

void note_warm_up(Session& session, const Stopwatch& watch, std::string_view of) {
  const std::string spent = watch.spent_before();
  if (spent.empty()) return;
  const std::string text = fmt::format("before that{}{}: {}", of.empty() ? "" : ", of ", of, spent);
  session.write(paint(text, style::kFaint, session.color()) + "\n");
}

void time_one(Session& session, std::string_view text) {
  Stopwatch watch(session, text);
  const Spread spread = time_of(watch);
  session.write(fmt::format("{} per loop, from {} to {} ({} runs of {} loop{})\n",
                            duration_text(spread.median), duration_text(spread.least),
                            duration_text(spread.most), kRuns, watch.loops(), watch.loops() == 1 ? "" : "s"));
  note_warm_up(session, watch, "");
}

void compare(Session& session, std::string_view first, std::string_view second) {
  Stopwatch a(session, first), b(session, second);
  const Comparison found = compare(a, b);
  for (const auto& [text, spread] : {std::pair(first, found.first), std::pair(second, found.second)}) {
    session.write(fmt::format("{:>8}  from {} to {}  {}\n", duration_text(spread.median),
                              duration_text(spread.least), duration_text(spread.most), text));
  }
  const Ratio& ratio = found.ratio;
  const bool differs = ratio.low > 1 || ratio.high < 1;
  session.write(
      fmt::format("the first takes {:.3g} times as long as the second, 95 % between {:.3g} and {:.3g}{}\n",
                  ratio.median, ratio.low, ratio.high, differs ? "" : ": no difference that was seen"));
  note_warm_up(session, a, first);
  note_warm_up(session, b, second);
}

void timeit(Session& session, std::string_view argument) {
  const Command& row = *find_command("timeit");
  if (argument.empty()) usage_error(row, "give something to run");
  const std::vector<std::string_view> parts = alternatives(argument);
  if (parts.size() > 2) usage_error(row, "two are compared");
  for (const std::string_view each : parts) {
    if (each.empty()) usage_error(row, "give something to run on either side of |");
  }
  if (parts.size() == 1) return time_one(session, argument);
  compare(session, parts[0], parts[1]);
}

constexpr std::array<Command, 2> kTimingCommands{{
    {"time", "e", "Timing", "run once; parsing, capture, compiling and running apart",
     "`compile` makes bytecode. Where code became hot, `capture` notes what it does, and `kernels` makes "
     "graphs\n"
     "and machine code of it; what other threads compile beside the program is told at the end.\n\n"
     "kiln> :time sum(range(1000))\n",
     time, in_programs("profile(() => f(x))")},
    {"timeit", "e [| other]", "Timing", "run many times; median and spread of one run, or of two their ratio",
     "The value of the last expression is kept alive until the next is there, so that all of it is "
     "computed.\n"
     "It is run until nothing is compiled any more; what that took is told apart. Names that it assigns are\n"
     "local. `:timeit a | b` runs both in turns and gives the ratio of their times with the interval that\n"
     "holds it in 95 of 100 measurements; an or of bits goes in brackets.\n\n"
     "kiln> x = ones(8)\nkiln> :timeit x + 1\nkiln> :timeit x.sum() | x.mean()\n",
     timeit, in_programs("timeit(() => f(x))")},
}};

}  // namespace

std::span<const Command> timing_commands() { return kTimingCommands; }

}  // namespace kiln::repl
