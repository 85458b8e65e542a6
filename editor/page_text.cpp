#include "editor/page_text.h"

#include "repl/command.h"
#include "repl/lines.h"
#include "repl/prompt_mark.h"

namespace kiln::editor {
namespace {

// Sentences as they are, examples up to their blank line as code.
std::string documentation_text(std::string_view documentation) {
  std::string text, example;
  const auto end_example = [&] {
    if (!example.empty()) text += code_block(example) + "\n";
    example.clear();
  };
  for (const std::string_view line : repl::lines_of(documentation)) {
    const bool begins = repl::prompt_length(repl::trim(line)) > 0;
    if (repl::trim(line).empty()) end_example();
    if (begins || !example.empty()) {
      example += std::string(line) + "\n";
    } else {
      text += std::string(line) + "\n";
    }
  }
  end_example();
  return text;
}

}  // namespace

Json markup_json(const std::string& markdown, bool reads_markdown) {
  if (reads_markdown) return {{"kind", "markdown"}, {"value", markdown}};
  std::string plain;
  for (std::string_view line : repl::lines_of(markdown)) {
    if (line.starts_with("```")) continue;
    const bool is_kind = line.size() > 2 && line.front() == '*' && line.back() == '*';
    plain += std::string(is_kind ? line.substr(1, line.size() - 2) : line) + "\n";
  }
  return {{"kind", "plaintext"}, {"value", plain}};
}

std::string code_block(std::string_view code) {
  return "```kiln\n" + std::string(repl::trim(code)) + "\n```\n";
}

std::string markdown(const repl::Page& page) {
  std::string signatures;
  for (const std::string& each : page.signatures) signatures += each + "\n";
  std::string text = code_block(signatures) + "*" + page.kind + "*\n";
  if (!page.documentation.empty()) text += "\n" + documentation_text(page.documentation);
  if (!page.notes.empty()) text += "\n";
  for (const std::string& note : page.notes) text += "- " + note + "\n";
  return text;
}

}  // namespace kiln::editor
