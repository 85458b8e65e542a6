#include "repl/source_page.h"

#include <fmt/format.h>

#include "lang/link.h"
#include "repl/definition.h"
#include "repl/documentation.h"
#include "repl/highlight.h"
#include "repl/op_row.h"
#include "repl/terminal.h"

namespace kiln::repl {
namespace {

constexpr std::string_view kOwnSource = "\nIts source is part of kiln itself.\n";

std::string definition_text(Session& session, const Definition& definition, bool color) {
  std::string place = fmt::format("{}:{}", definition.file, definition.line);
  if (session.options().links) place = lang::link_to_file(definition.file, definition.line, place);
  return paint("# " + place, style::kFaint, color) + "\n" +
         (color ? colored_source(definition.text) : definition.text) + "\n";
}

}  // namespace

std::optional<std::string> source_page(Session& session, std::string_view name, bool color) {
  const auto value = find_documented(session, name);
  if (value) {
    if (const auto definition = definition_of(*value)) return definition_text(session, *definition, color);
  }
  const auto page = find_page(session, name);
  if (!page) return std::nullopt;
  std::string text = render(*page, color);
  if (!value) return text.append(kOwnSource);
  if (const std::string rows = rows_of(*value); !rows.empty()) return text + "\n" + rows;
  return text.append(value->is(interp::Tag::Native) || value->is(interp::Tag::Type)
                         ? kOwnSource
                         : "\nOnly functions, structs and modules have source.\n");
}

}  // namespace kiln::repl
