// What changes the text: new names, fixes of mistakes, the one format.
#include <algorithm>
#include <array>

#include "editor/features.h"
#include "editor/places.h"
#include "editor/renaming.h"

namespace kiln::editor {
namespace {

Json workspace_edit(const Document& document, Json edits) {
  return {{"changes", {{document.uri(), std::move(edits)}}}};
}

// ---- New names ----

Json rename_options() { return {{"prepareProvider", true}}; }

const Symbol& renamed_symbol(Server& server, Document& document, const Json& params) {
  const std::size_t offset = server.offset_of(document, params);
  const Symbol* const symbol = document.analysis().symbols().at(offset);
  if (symbol == nullptr && document.analysis().symbols().member_at(offset) != nullptr)
    throw RequestError{kRequestFailed,
                       "fields and methods belong to values: only a run tells all places of one"};
  if (symbol == nullptr) throw RequestError{kRequestFailed, "here is no name of a variable"};
  if (!symbol->is_defined())
    throw RequestError{kRequestFailed, "`" + symbol->name + "` is not defined in this file"};
  return *symbol;
}

void prepare_rename(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const std::size_t offset = server.offset_of(document, params);
  const Symbol& symbol = renamed_symbol(server, document, params);
  for (const Occurrence& each : symbol.occurrences) {
    if (each.begin > offset || offset > each.end) continue;
    return reply({{"range", range_json(document.text(), each.begin, each.end, server.client().encoding)},
                  {"placeholder", symbol.name}});
  }
}

void rename(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Symbol& symbol = renamed_symbol(server, document, params);
  const std::string name = params.at("newName");
  if (!is_name(name)) throw RequestError{kRequestFailed, "`" + name + "` is no name"};
  const std::vector<Replacement> replacements = renaming(document.analysis(), symbol, name);
  if (!keeps_meaning(document.analysis(), replacements))
    throw RequestError{kRequestFailed,
                       "`" + name + "` means something else where `" + symbol.name + "` is used"};
  Json edits = Json::array();
  for (const Replacement& each : replacements)
    edits.push_back(edit_json(document.text(), each.begin, each.end, each.text, server.client().encoding));
  reply(workspace_edit(document, std::move(edits)));
}

// ---- Fixes ----

Json fix_options() { return {{"codeActionKinds", {"quickfix"}}}; }

std::string title_of(const Document& document, const Replacement& fix) {
  const std::string old = document.text().str().substr(fix.begin, fix.end - fix.begin);
  if (fix.text.empty()) return "Delete this";
  return old.empty() ? "Write `" + fix.text + "`" : "Replace `" + old + "` by `" + fix.text + "`";
}

bool wants_fixes(const Json& context) {
  if (!context.contains("only")) return true;
  return std::any_of(context["only"].begin(), context["only"].end(),
                     [](const Json& kind) { return kind == "" || kind == "quickfix"; });
}

void code_actions(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Encoding encoding = server.client().encoding;
  const Json& range = params.at("range");
  const std::size_t begin = document.text().offset(position_from(range.at("start")), encoding);
  const std::size_t end = document.text().offset(position_from(range.at("end")), encoding);
  Json actions = Json::array();
  const bool is_wanted = wants_fixes(params.value("context", Json::object()));
  for (const Mistake& each : document.mistakes) {
    const bool is_here = each.place.begin <= end && begin <= each.place.end;
    if (!is_wanted || !each.fix || !is_here || !document.mistakes_are_current()) continue;
    Json edit = edit_json(document.text(), each.fix->begin, each.fix->end, each.fix->text, encoding);
    actions.push_back({{"title", title_of(document, *each.fix)},
                       {"kind", "quickfix"},
                       {"isPreferred", true},
                       {"diagnostics", {diagnostic_json(document, each, encoding)}},
                       {"edit", workspace_edit(document, {std::move(edit)})}});
  }
  reply(std::move(actions));
}

// ---- The one format ----

// One edit over the lines that differ; none where there is nothing to do.
Json format_edits(const Text& text, const std::string& formatted, Encoding encoding) {
  const std::string& old = text.str();
  const std::size_t shorter = std::min(old.size(), formatted.size());
  std::size_t begin = 0, same_behind = 0;
  while (begin < shorter && old[begin] == formatted[begin]) ++begin;
  if (begin == old.size() && begin == formatted.size()) return Json::array();
  while (begin > 0 && old[begin - 1] != '\n') --begin;
  while (same_behind < shorter - begin &&
         old[old.size() - 1 - same_behind] == formatted[formatted.size() - 1 - same_behind])
    ++same_behind;
  while (same_behind > 0 && old[old.size() - same_behind - 1] != '\n') --same_behind;
  return {edit_json(text, begin, old.size() - same_behind,
                    formatted.substr(begin, formatted.size() - same_behind - begin), encoding)};
}

// A text that cannot be read stays as it is: its mistakes are shown anyhow.
void format(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  try {
    const std::string formatted = lang::format(lang::SourceFile(document.name(), document.text().str()));
    reply(format_edits(document.text(), formatted, server.client().encoding));
  } catch (const lang::UserError&) {
    reply(Json::array());
  }
}

constexpr std::array<Feature, 4> kFeatures{
    {{"textDocument/rename", "renameProvider", rename_options, rename},
     {"textDocument/prepareRename", "", nullptr, prepare_rename},
     {"textDocument/codeAction", "codeActionProvider", fix_options, code_actions},
     {"textDocument/formatting", "documentFormattingProvider", nullptr, format}}};

}  // namespace

std::span<const Feature> edit_features() { return kFeatures; }

}  // namespace kiln::editor
