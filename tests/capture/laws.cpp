#include "tests/capture/laws.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace kiln::testing {
namespace {

constexpr double kNear = 1e-4;  // of f32, after some dozen ops

bool is_near(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= kNear * (1 + std::max(std::abs(a), std::abs(b)));
}

// The number that a text begins with, which is taken away; nothing where there is none.
std::optional<double> take_number(const char*& text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text) return std::nullopt;
  text = end;
  return number;
}

bool same_but_for_rounding(const std::string& a, const std::string& b) {
  const char *x = a.c_str(), *y = b.c_str();
  while (*x != 0 && *y != 0) {
    const std::optional<double> m = take_number(x), n = take_number(y);
    if (m.has_value() != n.has_value() || (m && !is_near(*m, *n))) return false;
    if (!m && *x++ != *y++) return false;
  }
  return *x == *y;
}

void make_plain(std::vector<Statement>& statements, const Law& law) {
  for (Statement& each : statements) {
    if (each.head == law.line) each.head = law.plain;
    make_plain(each.body, law);
  }
}

bool is_error(const std::string& output) { return output.find("Error") != std::string::npos; }

}  // namespace

std::optional<std::string> broken_law(const Program& program, const Law& law, const Run& found) {
  Program plain = program;
  make_plain(plain.statements, law);
  Seen ignored;
  const Run expected = run(plain, {Mode::Interpreted, ""}, false, ignored);
  for (std::size_t k = 0; k < expected.shown.size(); ++k) {
    const std::string &a = expected.shown[k].output, &b = found.shown[k].output;
    if (is_error(a) && is_error(b)) return std::nullopt;
    if (same_but_for_rounding(a, b)) continue;
    // An error is another fault than a number.
    return fmt::format("{}: that of {} does not hold, after: {}\n  {}\n    {}  {}\n    {}",
                       is_error(a) || is_error(b) ? "law of errors" : "law", law.name,
                       program.statements[k].head, law.plain, a, law.line, b);
  }
  return std::nullopt;
}

}  // namespace kiln::testing
