#include "tests/capture/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/capture/compiled.h"
#include "interpreter/impl.h"
#include "lang/diagnostic.h"
#include "tests/capture/state.h"

namespace kiln::testing {
namespace {

using interp::Tag;
using interp::Value;

constexpr int kHotOps = 12;  // that a function or a loop runs before it is compiled

std::string wrapping_of(const Program& program, const std::string& head, const std::string& backend) {
  for (const std::string& name : program.functions) {
    if (head.rfind("fn " + name + "(", 0) == 0)
      return fmt::format("{0} = jit({0}, backend=\"{1}\")", name, backend);
  }
  return "";
}

void execute(interp::Interpreter& interpreter, const std::string& text, std::string& output) {
  try {
    interpreter.run("program.kiln", text);
  } catch (const lang::UserError& error) {
    output += lang::render(error.diagnostic());
  }
}

// The lines that differ, side by side.
std::string lines_apart(const std::string& a, const std::string& b) {
  const auto split = [](const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  };
  const std::vector<std::string> x = split(a), y = split(b);
  std::string text;
  for (std::size_t k = 0; k < std::max(x.size(), y.size()); ++k) {
    const std::string left = k < x.size() ? x[k] : "(nothing)";
    const std::string right = k < y.size() ? y[k] : "(nothing)";
    if (left != right) text += fmt::format("  interpreted: {}\n  compiled:    {}\n", left, right);
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

int hot_after(Mode mode) { return mode == Mode::Compiled ? 0 : mode == Mode::Hot ? kHotOps : -1; }

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
    add(Seen::Trips, each->varying.trips > 1 && each->hits > 0 ? 1 : 0);
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

std::vector<Shown> run(const Program& program, const Way& way, Seen& seen) {
  std::string output;
  interp::Options options;
  options.out = [&output](std::string_view text) { output += without_names(text); };
  options.err = [](std::string_view) {};  // warnings say what was compiled
  options.hot_after = hot_after(way.mode);
  if (!way.backend.empty()) options.backend = way.backend;
  interp::Interpreter interpreter(std::move(options));
  execute(interpreter, "seed(0)", output);
  std::vector<Shown> shown;
  std::size_t line = 0;
  for (const Statement& each : program.statements) {
    const std::string text = text_of(each);
    execute(interpreter, std::string(line, '\n') + text, output);
    line += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (way.mode == Mode::Wrapped) {
      const std::string wrapping = wrapping_of(program, each.head, way.backend);
      std::string ignored;  // the function may not have come about
      if (!wrapping.empty()) execute(interpreter, wrapping, ignored);
    }
    shown.push_back({std::move(output), state_of(interpreter)});
    output.clear();
  }
  seen = seen_in(interpreter, program);
  return shown;
}

std::optional<std::string> difference(const Program& program, Seen& seen) {
  Seen of_way;
  const std::vector<Shown> expected = run(program, {Mode::Interpreted, ""}, of_way);
  for (const Way& way : program.ways) {
    const std::vector<Shown> found = run(program, way, of_way);
    seen.add(of_way);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k] == found[k]) continue;
      return fmt::format("{}, after: {}\n{}{}", text_of(way), text_of(program.statements[k]),
                         lines_apart(expected[k].output, found[k].output),
                         lines_apart(expected[k].state, found[k].state));
    }
  }
  return std::nullopt;
}

}  // namespace kiln::testing
