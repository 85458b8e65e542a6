#include "tests/capture/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/interpreter.h"
#include "lang/diagnostic.h"
#include "tests/capture/state.h"

namespace kiln::testing {
namespace {

std::string wrapping_of(const Program& program, const std::string& head) {
  for (const std::string& name : program.functions) {
    if (head.rfind("fn " + name + "(", 0) == 0) return name + " = jit(" + name + ")";
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

const char* name_of(Mode mode) { return mode == Mode::Compiled ? "compiled" : "wrapped in jit"; }

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

std::vector<Shown> run(const Program& program, Mode mode) {
  std::string output;
  interp::Options options;
  options.out = [&output](std::string_view text) { output += text; };
  options.err = [](std::string_view) {};  // warnings say what was compiled
  options.hot_after = mode == Mode::Compiled ? 0 : -1;
  interp::Interpreter interpreter(std::move(options));
  execute(interpreter, "seed(0)", output);
  std::vector<Shown> shown;
  std::size_t line = 0;
  for (const Statement& each : program.statements) {
    const std::string text = text_of(each);
    execute(interpreter, std::string(line, '\n') + text, output);
    line += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (mode == Mode::Wrapped) {
      const std::string wrapping = wrapping_of(program, each.head);
      std::string ignored;  // the function may not have come about
      if (!wrapping.empty()) execute(interpreter, wrapping, ignored);
    }
    shown.push_back({std::move(output), state_of(interpreter)});
    output.clear();
  }
  return shown;
}

std::optional<std::string> difference(const Program& program) {
  const std::vector<Shown> expected = run(program, Mode::Interpreted);
  for (const Mode mode : {Mode::Compiled, Mode::Wrapped}) {
    const std::vector<Shown> found = run(program, mode);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k] == found[k]) continue;
      return fmt::format("{}, after: {}\n{}{}", name_of(mode), text_of(program.statements[k]),
                         lines_apart(expected[k].output, found[k].output),
                         lines_apart(expected[k].state, found[k].state));
    }
  }
  return std::nullopt;
}

}  // namespace kiln::testing
