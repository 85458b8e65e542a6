#include "tests/capture/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/capture/stages.h"
#include "interpreter/vm/impl.h"
#include "lang/diagnostic.h"
#include "tensor/device.h"
#include "tests/capture/laws.h"
#include "tests/capture/state.h"

namespace kiln::testing {
namespace {

using interp::Tag;
using interp::Value;

std::string wrapping_of(const Program& program, const std::string& head, const Way& way) {
  const std::string quote = way.is_own_backend ? "" : "\"";
  for (const std::string& name : program.functions) {
    if (head.rfind("fn " + name + "(", 0) == 0 || head.rfind(name + " = ", 0) == 0)
      return fmt::format("{0} = jit({0}, backend={1}{2}{1})", name, quote, way.backend);
  }
  return "";
}

// False when it ends in an error, which is output.
std::string& device_of_runs() {
  static std::string name = "cpu";
  return name;
}

bool execute(interp::Interpreter& interpreter, const std::string& text, std::string& output) {
  try {
    interpreter.run("program.kiln", text);
    return true;
  } catch (const lang::UserError& error) {
    output += lang::render(error.diagnostic());
    return false;
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The first lines that differ, side by side.
std::string lines_apart(const std::string& a, const std::string& b) {
  constexpr int kMost = 10;
  const std::vector<std::string> x = lines_of(a), y = lines_of(b);
  std::string text;
  int count = 0;
  for (std::size_t k = 0; k < std::max(x.size(), y.size()); ++k) {
    const std::string left = k < x.size() ? x[k] : "(nothing)";
    const std::string right = k < y.size() ? y[k] : "(nothing)";
    if (left == right) continue;
    if (++count > kMost) return text + "  ...\n";
    text += fmt::format("  interpreted: {}\n  compiled:    {}\n", left, right);
  }
  return text;
}

}  // namespace

namespace {

// What is printed, but for the op that a history ends with: a write into a part of a tensor is another op in
// a functional graph than on the tape.
std::string without_names(std::string_view text) {
  constexpr std::string_view kBefore = "grad_fn ";
  std::string kept;
  for (std::size_t at = text.find(kBefore); at != std::string_view::npos; at = text.find(kBefore)) {
    const std::size_t name = at + kBefore.size();
    kept += text.substr(0, name);
    text.remove_prefix(std::min(text.find_first_of(",) \n", name), text.size()));
  }
  return kept += text;
}

int hot_after(const Way& way) {
  return way.mode == Mode::Compiled ? 0 : way.mode == Mode::Hot ? way.hot_ops : -1;
}

void count(const interp::capture::Compiled& compiled, Seen& seen) {
  const auto add = [&](Seen::Kind kind, std::int64_t n) { seen.counts[kind] += n; };
  add(Seen::Hits, compiled.hits);
  add(Seen::Breaks, static_cast<std::int64_t>(compiled.breaks.size()));
  add(Seen::Recompiles, static_cast<std::int64_t>(compiled.recompiles.size()));
  for (const interp::capture::Entry* each : compiled.in_order) {
    const std::vector<bool> wanted = each->wanted_inputs();
    const bool has_gradients =
        each->differentiated || std::find(wanted.begin(), wanted.end(), true) != wanted.end();
    add(Seen::Graphs, each->captured.nodes.empty() ? 0 : 1);
    add(Seen::Loops, each->varying.in_loop ? 1 : 0);
    add(Seen::UnrolledLoops, each->varying.iterations > 1 && each->hits > 0 ? 1 : 0);
    add(Seen::Gradients, has_gradients ? 1 : 0);
    add(Seen::Symbols, each->captured.hints.empty() ? 0 : 1);
  }
}

Seen seen_in(interp::Interpreter& interpreter, const Program& program) {
  Seen seen;
  for (const auto& code : interpreter.impl().vm.hot()) count(*code->compiled, seen);
  for (const std::string& name : program.functions) {
    const Value* f = interpreter.lookup(name);
    if (f != nullptr && f->is(Tag::Function) && f->as<interp::Function>().code->compiled &&
        f->as<interp::Function>().code->compiled->options.asked_for)
      count(*f->as<interp::Function>().code->compiled, seen);
  }
  return seen;
}

}  // namespace

void set_device_of_runs(std::string name) { device_of_runs() = std::move(name); }

Run run(const Program& program, const Way& way, bool beside_interpreter, Seen& seen) {
  std::string output;
  interp::Options options;
  options.out = [&output](std::string_view text) { output += without_names(text); };
  options.err = [](std::string_view) {};  // warnings say what was compiled
  options.hot_after = hot_after(way);
  if (!way.backend.empty() && !way.is_own_backend) options.backend = way.backend;
  interp::set_checking(beside_interpreter);
  set_default_device(parse_device(device_of_runs()));
  const std::int64_t reported_before = interp::differences_found();
  interp::Interpreter interpreter(std::move(options));
  execute(interpreter,
          way.mode == Mode::Interpreted ? "seed(0); set_compile(false)" : "seed(0); set_compile(true)",
          output);
  Run made;
  std::size_t line = 0;
  for (const Statement& each : program.statements) {
    const std::string text = text_of(each);
    if (!execute(interpreter, std::string(line, '\n') + text, output)) ++made.errors;
    line += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (way.mode == Mode::Wrapped) {
      const std::string wrapping = wrapping_of(program, each.head, way);
      std::string ignored;  // the function may not have come about
      if (!wrapping.empty()) execute(interpreter, wrapping, ignored);
    }
    made.shown.push_back({std::move(output), state_of(interpreter)});
    output.clear();
  }
  seen = seen_in(interpreter, program);
  made.reported = interp::differences_found() - reported_before;
  interp::set_checking(false);
  return made;
}

namespace {

// The first statement after which two runs have shown or hold something else, and what.
std::optional<std::string> apart(const Program& program, const Run& expected, const Run& found) {
  for (std::size_t k = 0; k < expected.shown.size(); ++k) {
    const Shown &a = expected.shown[k], &b = found.shown[k];
    if (a == b) continue;
    return fmt::format("after: {}\n{}{}", program.statements[k].head, lines_apart(a.output, b.output),
                       lines_apart(a.state, b.state));
  }
  return std::nullopt;
}

bool same_output(const Run& a, const Run& b) {
  return std::equal(a.shown.begin(), a.shown.end(), b.shown.begin(),
                    [](const Shown& x, const Shown& y) { return x.output == y.output; });
}

// A mistake of Kiln's own is one also where every run makes it.
std::optional<std::string> mistake_in(const Run& made) {
  for (const Shown& each : made.shown) {
    if (each.output.find("InternalError") != std::string::npos) return "mistake: " + each.output;
  }
  return std::nullopt;
}

// In one way of running. What it shows beside the interpreter is the interpreter's, and what differs is told.
std::optional<std::string> difference_in(const Program& program, const Run& expected, const Way& way,
                                         Seen& seen) {
  Seen of_way;
  const Run plain = run(program, way, false, of_way);
  seen.add(of_way);
  const std::optional<std::string> found = apart(program, expected, plain);
  if (!found && !way.is_checked) return std::nullopt;
  const Run beside = run(program, way, true, of_way);
  if (found) {
    const bool is_silent = beside.reported == 0;
    seen.counts[Seen::Unreported] += is_silent ? 1 : 0;
    return fmt::format("{}: {}, {}{}", same_output(expected, plain) ? "state" : "output", text_of(way),
                       *found, is_silent ? "--check tells nothing of it\n" : "");
  }
  if (const auto of_check = apart(program, expected, beside))
    return fmt::format("beside: {}, beside the interpreter, {}", text_of(way), *of_check);
  if (beside.reported > 0)
    return fmt::format("report: {}, --check reports what is no difference\n", text_of(way));
  return std::nullopt;
}

constexpr std::string_view kErrors = " statements end in an error in the interpreter\n";

std::optional<std::string> first_wrong(const Program& program, const Run& expected, Seen& seen) {
  if (const auto mistake = mistake_in(expected)) return mistake;
  for (const Law& law : program.laws) {
    if (auto broken = broken_law(program, law, expected)) return broken;
  }
  for (const Way& way : program.ways) {
    if (auto found = difference_in(program, expected, way, seen)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::string kind_of(const std::string& difference) { return difference.substr(0, difference.find(':')); }

std::int64_t errors_of(const std::string& difference) {
  if (!difference.ends_with(kErrors)) return 0;
  const std::size_t end = difference.size() - kErrors.size();
  return std::atoll(difference.c_str() + difference.rfind('\n', end) + 1);
}

std::optional<std::string> difference(const Program& program, Seen& seen) {
  Seen of_interpreted;
  const Run expected = run(program, {Mode::Interpreted, ""}, false, of_interpreted);
  const auto found = first_wrong(program, expected, seen);
  if (!found || expected.errors == 0) return found;
  return fmt::format("{}{}{}", *found, expected.errors, kErrors);
}

}  // namespace kiln::testing
