// Where names are defined: definitions, the symbols of a document and of the open folders.
#include <array>
#include <filesystem>

#include "editor/features.h"
#include "editor/library_files.h"
#include "editor/names_asked.h"
#include "editor/outline.h"
#include "editor/shared_names.h"
#include "editor/uri.h"
#include "repl/options.h"
#include "repl/program_files.h"

namespace kiln::editor {
namespace {

// ---- Definitions ----

Json location(const Document& document, const Occurrence& at, Encoding encoding) {
  return {{"uri", document.uri()}, {"range", range_json(document.text(), at.begin, at.end, encoding)}};
}

Json definition_json(const Json& found) {
  if (found.is_null()) return {};
  const std::string file = found.at("file");
  const std::string path =
      found.contains("library") ? library_file(file, found["library"].get<std::string>()) : file;
  if (path.empty()) return {};
  const Json at = {{"line", found.at("line")}, {"character", found.at("column")}};
  return {{"uri", uri_of_path(path)}, {"range", {{"start", at}, {"end", at}}}};
}

void ask_definition(Server& server, Document& document, Json names, const Reply& reply) {
  server.workspace().ask(&document, {{"ask", "definition"}, {"names", std::move(names)}},
                         [reply](const Json& found) { reply(definition_json(found)); });
}

void define_import(Server& server, Document& document, const Symbol& symbol, const Reply& reply) {
  const auto& import = static_cast<const lang::ImportStmt&>(*symbol.definition);
  const std::string file =
      imported_file(std::filesystem::path(document.path()).parent_path().string(), import);
  const Json start = {{"line", 0}, {"character", 0}};
  if (!file.empty() && import.names.empty())
    return reply({{"uri", uri_of_path(file)}, {"range", {{"start", start}, {"end", start}}}});
  ask_definition(server, document, {symbol.name, std::string(import.module)}, reply);
}

void definition(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const std::size_t offset = server.offset_of(document, params);
  const SymbolTable& symbols = document.analysis().symbols();
  if (const lang::AttributeExpr* member = symbols.member_at(offset))
    return ask_definition(server, document, names_of_member(document, *member), reply);
  const Symbol* const symbol = symbols.at(offset);
  if (symbol == nullptr) return reply(Json());
  const Occurrence* const first = symbol->first_definition();
  if (first == nullptr) return ask_definition(server, document, {symbol->name}, reply);
  if (symbol->definition != nullptr && symbol->definition->kind == lang::StmtKind::Import)
    return define_import(server, document, *symbol, reply);
  reply(location(document, *first, server.client().encoding));
}

// ---- Symbols ----

void document_symbols(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  reply(outline_json(outline(document.analysis()), document.text(), server.client().encoding));
}

void add_symbols(Json& found, const std::vector<OutlineItem>& items, const std::string& container,
                 const std::string& query, const std::string& uri, const Text& text, Encoding encoding) {
  for (const OutlineItem& each : items) {
    if (each.name.find(query) != std::string::npos) {
      found.push_back({{"name", each.name},
                       {"kind", static_cast<int>(each.kind)},
                       {"containerName", container},
                       {"location", {{"uri", uri}, {"range", range_json(text, each.name_span, encoding)}}}});
    }
    add_symbols(found, each.children, each.name, query, uri, text, encoding);
  }
}

// Of open documents as they are, of other files of the open folders as they are on the disk.
void workspace_symbols(Server& server, const Json& params, const Reply& reply) {
  const std::string query = params.at("query");
  const Encoding encoding = server.client().encoding;
  Json found = Json::array();
  for (const auto& [uri, document] : server.workspace().documents())
    add_symbols(found, outline(document->analysis()), "", query, uri, document->text(), encoding);
  std::vector<std::string> files;
  try {
    files = repl::find_programs(server.client().folders).paths;
  } catch (const repl::UsageError&) {
    // A folder of so many files is no folder of programs.
  }
  for (const std::string& file : files) {
    const std::string uri = uri_of_path(file);
    if (server.workspace().find(uri) != nullptr) continue;
    try {
      const Analysis analysis(file, repl::read_text(file));
      add_symbols(found, outline(analysis), "", query, uri, Text(std::string(analysis.file().text())),
                  encoding);
    } catch (const lang::UserError&) {
      // It cannot be read.
    }
  }
  reply(std::move(found));
}

constexpr std::array<Feature, 3> kNavigationFeatures{
    {{"textDocument/definition", "definitionProvider", nullptr, definition},
     {"textDocument/documentSymbol", "documentSymbolProvider", nullptr, document_symbols},
     {"workspace/symbol", "workspaceSymbolProvider", nullptr, workspace_symbols}}};

}  // namespace

std::span<const Feature> navigation_features() { return kNavigationFeatures; }

}  // namespace kiln::editor
