#include "tests/capture/program.h"

namespace kiln::testing {

std::string text_of(const Statement& statement, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  std::string text = indent + statement.head + "\n";
  for (const Statement& each : statement.body) text += text_of(each, depth + 1);
  if (!statement.tail.empty()) text += indent + statement.tail + "\n";
  return text;
}

std::string text_of(const Program& program) {
  std::string text;
  for (const Statement& each : program.statements) text += text_of(each);
  return text;
}

std::string text_of(const Way& way) {
  const std::string quote = way.is_own_backend ? "" : "\"";
  const std::string backend = "backend " + quote + way.backend + quote;
  switch (way.mode) {
    case Mode::Interpreted:
      return "interpreted";
    case Mode::Compiled:
      return "compiled at first calls, " + backend;
    case Mode::Hot:
      return "compiled when hot after " + std::to_string(way.hot_ops) + " ops, " + backend;
    case Mode::Wrapped:
      return "wrapped in jit, " + backend;
  }
  return "";
}

}  // namespace kiln::testing
