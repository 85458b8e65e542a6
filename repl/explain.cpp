#include "repl/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "repl/command.h"
#include "repl/lines.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

std::string example(std::string_view heading, std::string_view program) {
  if (program.empty()) return {};
  std::string text = fmt::format("\n\n{}:\n", heading);
  for (const std::string_view line : lines_of(program)) text += fmt::format("\n  {}", line);
  return text;
}

// The codes of a kind, or all; "" when there is none.
std::string list_of(std::string_view kind, bool color) {
  std::string text;
  std::string_view before;
  for (const lang::ErrorCode& each : lang::error_codes()) {
    if (!kind.empty() && each.kind != kind) continue;
    if (each.kind != before) text += paint(each.kind, style::kHeading, color) + "\n";
    before = each.kind;
    text += fmt::format("  {}  {}\n", each.code, each.title);
  }
  return text;
}

}  // namespace

Page page_of(const lang::ErrorCode& code) {
  Page page{std::string(code.code), fmt::format("{}, a {}", code.code, code.kind), {}, {}, {}};
  page.signatures.emplace_back(code.title);
  page.documentation =
      std::string(code.explanation) + example("wrong", code.wrong) + example("right", code.right);
  return page;
}

std::string explanation(std::string_view of, bool color) {
  if (const lang::ErrorCode* code = lang::find_error_code(of)) return render(page_of(*code), color);
  std::string list = list_of(of, color);
  if (list.empty()) {
    command_error("NameError", fmt::format("there is no code and no kind of error `{}`", of),
                  "`:explain ShapeError`, or `kiln explain ShapeError`, lists the codes of a kind");
  }
  return list;
}

}  // namespace kiln::repl
