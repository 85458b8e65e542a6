// What changes the text: fixes of mistakes, the one format.
#include <algorithm>
#include <array>

#include "editor/features.h"
#include "editor/places.h"
#include "editor/range_format.h"

namespace kiln::editor {
namespace {

Json workspace_edit(const Document& document, Json edits) {
  return {{"changes", {{document.uri(), std::move(edits)}}}};
}

// ---- Fixes ----

constexpr std::string_view kQuickFix = "quickfix", kFixAll = "source.fixAll";

Json fix_options() { return {{"codeActionKinds", {kQuickFix, kFixAll}}}; }

std::string title_of(const Document& document, const Replacement& fix) {
  const std::string old = document.text().str().substr(fix.begin, fix.end - fix.begin);
  if (fix.text.empty()) return "Delete this";
  return old.empty() ? "Write `" + fix.text + "`" : "Replace `" + old + "` by `" + fix.text + "`";
}

// A kind that is asked for stands for those that begin with it: "source" for "source.fixAll".
bool wants(const Json& context, std::string_view kind) {
  if (!context.contains("only")) return true;
  return std::any_of(context["only"].begin(), context["only"].end(), [&](const Json& each) {
    const auto asked = each.get<std::string>();
    return kind == asked || asked.empty() || kind.starts_with(asked + ".");
  });
}

void add_fixes(Json& actions, const Document& document, std::size_t begin, std::size_t end,
               Encoding encoding) {
  for (const Mistake& each : document.mistakes) {
    const bool is_here = each.place.begin <= end && begin <= each.place.end;
    if (!each.fix || !is_here) continue;
    Json edit = edit_json(document.text(), each.fix->begin, each.fix->end, each.fix->text, encoding);
    actions.push_back({{"title", title_of(document, *each.fix)},
                       {"kind", kQuickFix},
                       {"isPreferred", true},
                       {"diagnostics", {diagnostic_json(document, each, encoding)}},
                       {"edit", workspace_edit(document, {std::move(edit)})}});
  }
}

// All fixes of the text as one edit. Of those that touch the same place the first is taken.
void add_fix_of_all(Json& actions, const Document& document, Encoding encoding) {
  std::vector<Replacement> fixes;
  for (const Mistake& each : document.mistakes)
    if (each.fix) fixes.push_back(*each.fix);
  std::ranges::stable_sort(fixes, {}, &Replacement::begin);
  Json edits = Json::array();
  std::uint32_t done = 0;
  for (const Replacement& each : fixes) {
    if (!edits.empty() && each.begin <= done) continue;
    done = each.end;
    edits.push_back(edit_json(document.text(), each.begin, each.end, each.text, encoding));
  }
  if (edits.empty()) return;
  const std::string title = edits.size() == 1
                                ? "Fix what can be fixed: 1 mistake"
                                : "Fix what can be fixed: " + std::to_string(edits.size()) + " mistakes";
  actions.push_back(
      {{"title", title}, {"kind", kFixAll}, {"edit", workspace_edit(document, std::move(edits))}});
}

void code_actions(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Encoding encoding = server.client().encoding;
  const Json& range = params.at("range");
  const std::size_t begin = document.text().offset(position_from(range.at("start")), encoding);
  const std::size_t end = document.text().offset(position_from(range.at("end")), encoding);
  const Json context = params.value("context", Json::object());
  Json actions = Json::array();
  if (document.mistakes_are_current()) {
    if (wants(context, kQuickFix)) add_fixes(actions, document, begin, end, encoding);
    if (context.contains("only") && wants(context, kFixAll)) add_fix_of_all(actions, document, encoding);
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

// The lines that differ within the range, and what must change with them so that the whole text formatted
// stays the same.
void format_range(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Encoding encoding = server.client().encoding;
  const Json& range = params.at("range");
  const Position start = position_from(range.at("start")), end = position_from(range.at("end"));
  // An end at the beginning of a line is that of the line before.
  const std::size_t last = end.character == 0 && end.line > start.line ? end.line - 1 : end.line;
  try {
    Json edits = Json::array();
    for (const LineChange& each : range_changes(document.name(), document.text().str(), start.line, last)) {
      const std::size_t begin = document.text().offset({each.first, 0}, encoding);
      const std::size_t behind = document.text().offset({each.first + each.count, 0}, encoding);
      edits.push_back(edit_json(document.text(), begin, behind, each.text, encoding));
    }
    reply(std::move(edits));
  } catch (const lang::UserError&) {
    reply(Json::array());
  }
}

constexpr std::array<Feature, 3> kEditsFeatures{
    {{"textDocument/codeAction", "codeActionProvider", fix_options, code_actions},
     {"textDocument/formatting", "documentFormattingProvider", nullptr, format},
     {"textDocument/rangeFormatting", "documentRangeFormattingProvider", nullptr, format_range}}};

}  // namespace

std::span<const Feature> edit_features() { return kEditsFeatures; }

}  // namespace kiln::editor
