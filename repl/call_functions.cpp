// Functions that look at a call as the prompt's commands do: html find_nan timeit.
#include <fmt/format.h>

#include "interpreter/host/graph_calls.h"
#include "interpreter/host/record.h"
#include "interpreter/host/transforms.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "repl/functions.h"
#include "repl/not_finite.h"
#include "repl/page/write_page.h"
#include "repl/stopwatch.h"
#include "repl/units.h"

namespace kiln::repl {
namespace {

using interp::Interpreter;
using interp::Value;
using Args = std::span<Value>;
namespace host = interp::host;

Value html(Interpreter&, Args a) {
  interp::shadow::leave();
  host::check_function(a[0], "html");
  const WrittenCall call{a[0], a[1].as<interp::Tuple>().items, host::named_arguments(a[3])};
  const std::string path = a[2].is_none() ? "" : host::path_argument(a[2], "path");
  return Value(write_page(*Session::current(), "", call, path));
}

Value find_nan(Interpreter& interpreter, Args a) {
  const Walk walk(host::call_of(interpreter, a[0], a[1], a[2]));
  std::string text = not_finite_text(*Session::current(), walk);
  text.pop_back();  // the line end
  return Value(text);
}

// ---- timeit ----

Value spread_value(const Spread& spread) {
  static const Value* const type = new Value(host::record_type(
      "Timing",
      "How long one call takes, in seconds: the middle one of several runs (`seconds`), the "
      "`least` and the `most`.",
      {"seconds", "least", "most", "text"}));
  return host::make_record(*type,
                           {Value(spread.median), Value(spread.least), Value(spread.most),
                            Value(fmt::format("{}, from {} to {}", duration_text(spread.median),
                                              duration_text(spread.least), duration_text(spread.most)))});
}

Value comparison_value(const Comparison& found) {
  static const Value* const type = new Value(host::record_type(
      "Comparison",
      "The times of two functions (`first` and `second`, each with `seconds least most`), their `ratio`, and "
      "the interval from `low` to `high` that holds it in 95 of 100 measurements.",
      {"first", "second", "ratio", "low", "high", "text"}));
  return host::make_record(
      *type, {spread_value(found.first), spread_value(found.second), Value(found.ratio.median),
              Value(found.ratio.low), Value(found.ratio.high),
              Value(fmt::format("{:.3g} times as long, from {:.3g} to {:.3g}", found.ratio.median,
                                found.ratio.low, found.ratio.high))});
}

Value timeit(Interpreter&, Args a) {
  interp::shadow::leave();
  host::check_function(a[0], "timeit");
  Stopwatch first(*Session::current(), a[0]);
  if (a[1].is_none()) return spread_value(time_of(first));
  host::check_function(a[1], "timeit");
  Stopwatch second(*Session::current(), a[1]);
  return comparison_value(compare(first, second));
}

constexpr interp::NativeDef kNatives[] = {
    {"html(f, *args, path=none, **named)",
     "Writes a page of all stages of one call f(*args, **named), linked line by line, and gives its path: a "
     "new temporary file where `path` is none. `:html` does it at the prompt.\n"
     ">>> path = html(x => x.cos() * 2, ones(3))\n>>> path.endswith(\".html\")\ntrue",
     html},
    {"find_nan(f, *args, **named)",
     "The first node of one call f(*args, **named) that makes a nan, and the first that makes an inf, with "
     "their operands, as text. `:nan` prints it.\n"
     ">>> find_nan(x => x.log(), tensor([1.0, -1.0])).split(\"\\n\")[0]\n"
     "'the first node of functional that makes nan:'",
     find_nan},
    {"timeit(f, other=none)",
     "How long a call f() takes once nothing is compiled any more: a struct with `seconds least most`. With "
     "another function both run in turns, and it has `first`, `second`, their `ratio`, and the interval from "
     "`low` to `high` that holds it in 95 of 100 measurements. `:timeit` prints them.\n"
     ">>> x = ones(8)\n>>> t = timeit(() => x + 1)\n>>> t.least <= t.seconds and t.seconds <= t.most\n"
     "true",
     timeit},
};

}  // namespace

std::span<const interp::NativeDef> call_functions() { return kNatives; }

}  // namespace kiln::repl
