#include "lang/error_codes.h"

#include "tests/documents/documents.h"

namespace kiln::testing {
namespace {

constexpr std::string_view kIntroductionOfCodes =
    "# Error codes\n"
    "\n"
    "Made from the table of `lang/error_codes*.cpp` by `scripts/docs`; the examples run as tests. Each kind "
    "of "
    "mistake has a code\nthat stays: at a terminal it stands behind the message, `err.code` has it in a "
    "`catch`, and "
    "`kiln --json` writes it.\n`:explain K0501` at the prompt and `kiln explain K0501` show one of these. "
    "How errors "
    "come about is in [errors.md](errors.md).\n";

std::string example(std::string_view heading, std::string_view program) {
  if (program.empty()) return {};
  return "\n" + std::string(heading) + ":\n\n```\n" + std::string(program) + "\n```\n";
}

}  // namespace

std::string error_code_reference() {
  std::string text(kIntroductionOfCodes);
  std::string_view kind;
  for (const lang::ErrorCode& each : lang::error_codes()) {
    if (each.kind != kind) text += "\n## " + std::string(each.kind) + "\n";
    kind = each.kind;
    text += "\n### " + std::string(each.code) + ": " + std::string(each.title) + "\n\n" +
            std::string(each.explanation) + "\n" + example("Wrong", each.wrong) +
            example("Right", each.right);
  }
  return text;
}

}  // namespace kiln::testing
