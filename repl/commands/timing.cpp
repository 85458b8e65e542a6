// Commands that measure: time timeit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "interpreter/compile/compile.h"
#include "lang/parse.h"
#include "repl/command.h"
#include "repl/units.h"

namespace kiln::repl {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long it takes to read a text and to make bytecode of it. Both are thrown away.
struct Preparation {
  double parse;
  double compile;
};

Preparation prepare(Session& session, std::string_view text) {
  const lang::SourceFile& file = session.interpreter().sources().add(session.next_name(), std::string(text));
  const interp::Value scratch = interp::make<interp::Module>();
  const Clock::time_point start = Clock::now();
  const std::shared_ptr<lang::Ast> ast = lang::parse(file);
  lang::resolve(*ast);
  const double parsed = seconds_since(start);
  interp::compile(ast, scratch.as<interp::Module>());
  return {parsed, seconds_since(start) - parsed};
}

void time(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("time"), "give something to run");
  const Preparation preparation = prepare(session, argument);
  const Clock::time_point start = Clock::now();
  const interp::Interpreter::Outcome outcome = session.run(argument);
  const double running = std::max(0.0, seconds_since(start) - preparation.parse - preparation.compile);
  if (outcome.has_value) session.show(outcome.value);
  session.write(fmt::format("parse {}, compile {}, run {}\n", duration_text(preparation.parse),
                            duration_text(preparation.compile), duration_text(running)));
}

// ---- :timeit ----

// `text` run a given number of times, as a function: names it assigns are local to it.
interp::Value loop_of(Session& session, std::string_view text) {
  const std::string source = fmt::format("fn (loops) {{\n for loop in range(loops) {{\n{}\n}}\n}}", text);
  return session.run(source).value;
}

double run_loops(Session& session, const interp::Value& loop, std::int64_t count) {
  const Clock::time_point start = Clock::now();
  session.interpreter().call(loop, {interp::Value(count)});
  return seconds_since(start);
}

// Loops so that one run takes at least this long: the clock and the call then weigh nothing.
constexpr double kLeastRun = 0.1;
constexpr int kRuns = 7;

std::int64_t choose_count(Session& session, const interp::Value& loop) {
  for (std::int64_t count = 1;; count *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (run_loops(session, loop, count * factor) >= kLeastRun) return count * factor;
    }
  }
}

void timeit(Session& session, std::string_view argument) {
  if (argument.empty()) usage_error(*find_command("timeit"), "give something to run");
  lang::resolve(
      *lang::parse(session.interpreter().sources().add(session.next_name(), std::string(argument))));
  const interp::Value loop = loop_of(session, argument);
  const std::int64_t count = choose_count(session, loop);
  std::array<double, kRuns> runs{};
  for (double& run : runs) run = run_loops(session, loop, count) / static_cast<double>(count);
  std::sort(runs.begin(), runs.end());
  session.write(fmt::format("{} per loop, from {} to {} ({} runs of {} loop{})\n",
                            duration_text(runs[kRuns / 2]), duration_text(runs.front()),
                            duration_text(runs.back()), kRuns, count, count == 1 ? "" : "s"));
}

constexpr std::array<Command, 2> kCommands{{
    {"time", "e", "Timing", "run once; parsing, compiling and running apart",
     "kiln> :time sum(range(1000))\n", time},
    {"timeit", "e", "Timing", "run many times; median and spread of one run",
     "Names that it assigns are local to the loop.\n\nkiln> x = ones(8)\nkiln> :timeit x + 1\n", timeit},
}};

}  // namespace

std::span<const Command> timing_commands() { return kCommands; }

}  // namespace kiln::repl
