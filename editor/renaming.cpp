#include "editor/renaming.h"

#include <algorithm>

#include "lang/syntax.h"

namespace kiln::editor {
namespace {

// Is the occurrence the name of an import that is written without `as`?
bool is_plain_import(const Analysis& analysis, const Symbol& symbol, const Occurrence& at) {
  if (!at.is_definition || symbol.definition == nullptr || symbol.definition->kind != lang::StmtKind::Import)
    return false;
  const auto& import = static_cast<const lang::ImportStmt&>(*symbol.definition);
  if (at.begin < import.span.begin || at.end > import.span.end) return false;
  const std::string_view before =
      analysis.file().text().substr(import.span.begin, at.begin - import.span.begin);
  lang::Tok last = lang::Tok::End;
  for (const lang::Token& token : lang::lex(before)) {
    if (token.kind != lang::Tok::Space) last = token.kind;
  }
  return last != lang::Tok::As;
}

// Where an offset of the old text is in the new one.
std::uint32_t moved(std::uint32_t offset, const std::vector<Replacement>& replacements) {
  std::int64_t shift = 0;
  for (const Replacement& each : replacements) {
    if (each.end <= offset)
      shift += static_cast<std::int64_t>(each.text.size()) - static_cast<std::int64_t>(each.end - each.begin);
  }
  return static_cast<std::uint32_t>(offset + shift);
}

std::string text_with(const Analysis& analysis, const std::vector<Replacement>& replacements) {
  std::string text(analysis.file().text());
  for (auto each = replacements.rbegin(); each != replacements.rend(); ++each)
    text.replace(each->begin, each->end - each->begin, each->text);
  return text;
}

}  // namespace

bool is_name(const std::string& text) {
  const std::vector<lang::Token> tokens = lang::lex(text);
  return tokens.size() == 1 && tokens.front().kind == lang::Tok::Name;
}

std::vector<Replacement> renaming(const Analysis& analysis, const Symbol& symbol, const std::string& name) {
  std::vector<Replacement> replacements;
  for (const Occurrence& each : symbol.occurrences) {
    const std::string old(analysis.file().text().substr(each.begin, each.end - each.begin));
    replacements.push_back(
        {each.begin, each.end, is_plain_import(analysis, symbol, each) ? old + " as " + name : name});
  }
  return replacements;
}

bool keeps_meaning(const Analysis& analysis, const std::vector<Replacement>& replacements) {
  const Analysis now(analysis.file().name(), text_with(analysis, replacements));
  if (now.mistakes().size() != analysis.mistakes().size()) return false;
  if (now.symbols().all().size() != analysis.symbols().all().size()) return false;
  for (const Symbol& each : analysis.symbols().all()) {
    const auto end_of = [&](const Occurrence& o) { return moved(o.end, replacements); };
    const Symbol* const same = now.symbols().at(end_of(each.occurrences.front()));
    const bool is_same = same != nullptr && std::equal(each.occurrences.begin(), each.occurrences.end(),
                                                       same->occurrences.begin(), same->occurrences.end(),
                                                       [&](const Occurrence& a, const Occurrence& b) {
                                                         return end_of(a) == b.end;
                                                       });
    if (!is_same) return false;
  }
  return true;
}

}  // namespace kiln::editor
