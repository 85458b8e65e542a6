// Where else a name stands, in this text and in others of the program, and another name in all these places.
#include <algorithm>
#include <array>

#include "editor/features.h"
#include "editor/places.h"
#include "editor/renaming.h"
#include "editor/shared_names.h"

namespace kiln::editor {
namespace {

// ---- References ----

Json locations(const std::string& uri, const Text& text, const std::vector<Occurrence>& places,
               bool with_definitions, Encoding encoding) {
  Json found = Json::array();
  for (const Occurrence& each : places) {
    if (with_definitions || !each.is_definition)
      found.push_back({{"uri", uri}, {"range", range_json(text, each.begin, each.end, encoding)}});
  }
  return found;
}

void references(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const std::size_t offset = server.offset_of(document, params);
  const Encoding encoding = server.client().encoding;
  const bool with_definitions = params.value("context", Json::object()).value("includeDeclaration", true);
  Json found = Json::array();
  if (const auto shared = shared_name_at(server.workspace(), document, offset)) {
    for (const NamePlaces& each : places_of(server.workspace(), server.client().folders, *shared)) {
      const Text text(std::string(each.analysis->file().text()));
      for (Json& at : locations(each.uri, text, each.places, with_definitions, encoding))
        found.push_back(std::move(at));
    }
  } else if (const Symbol* const symbol = document.analysis().symbols().at(offset)) {
    found = locations(document.uri(), document.text(), symbol->occurrences, with_definitions, encoding);
  }
  reply(std::move(found));
}

void highlights(Server& server, const Json& params, const Reply& reply) {
  constexpr int kRead = 2, kWrite = 3;
  Document& document = server.document_of(params);
  const Symbol* const symbol = document.analysis().symbols().at(server.offset_of(document, params));
  Json found = Json::array();
  if (symbol != nullptr) {
    for (const Occurrence& each : symbol->occurrences) {
      found.push_back({{"range", range_json(document.text(), each.begin, each.end, server.client().encoding)},
                       {"kind", each.is_definition ? kWrite : kRead}});
    }
  }
  reply(std::move(found));
}

// ---- New names ----

Json rename_options() { return {{"prepareProvider", true}}; }

// A variable of the text alone, or one that other files use, too.
struct Renamed {
  NameAt at;
  std::optional<SharedName> shared;
  const Symbol* symbol = nullptr;  // of the text alone
};

Renamed renamed_at(Server& server, Document& document, const Json& params) {
  const std::size_t offset = server.offset_of(document, params);
  const auto at = name_at(document, offset);
  if (!at) throw RequestError{kRequestFailed, "here is no name of a variable"};
  if (auto shared = shared_name_at(server.workspace(), document, offset))
    return {*at, std::move(shared), nullptr};
  const Symbol* const symbol = document.analysis().symbols().at(offset);
  if (symbol == nullptr)
    throw RequestError{kRequestFailed,
                       "fields and methods belong to values: only a run tells all places of one"};
  if (!symbol->is_defined())
    throw RequestError{kRequestFailed, "`" + symbol->name + "` is not defined in this file"};
  return {*at, std::nullopt, symbol};
}

void prepare_rename(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Renamed renamed = renamed_at(server, document, params);
  reply({{"range", range_json(document.text(), renamed.at.begin, renamed.at.end, server.client().encoding)},
         {"placeholder", renamed.at.name}});
}

void add_edits(Json& changes, const std::string& uri, const Analysis& analysis,
               const std::vector<Replacement>& replacements, const std::string& old, const std::string& name,
               Encoding encoding) {
  if (!keeps_meaning(analysis, replacements))
    throw RequestError{kRequestFailed, "`" + name + "` means something else where `" + old + "` is used in " +
                                           analysis.file().name()};
  const Text text(std::string(analysis.file().text()));
  Json edits = Json::array();
  for (const Replacement& each : replacements)
    edits.push_back(edit_json(text, each.begin, each.end, each.text, encoding));
  changes[uri] = std::move(edits);
}

void rename(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const Renamed renamed = renamed_at(server, document, params);
  const std::string name = params.at("newName");
  if (!is_name(name)) throw RequestError{kRequestFailed, "`" + name + "` is no name"};
  const Encoding encoding = server.client().encoding;
  Json changes = Json::object();
  if (renamed.symbol != nullptr) {
    add_edits(changes, document.uri(), document.analysis(),
              renaming(document.analysis(), *renamed.symbol, name), renamed.at.name, name, encoding);
  } else {
    const auto places = places_of(server.workspace(), server.client().folders, *renamed.shared);
    const bool is_given = std::ranges::any_of(places, [](const NamePlaces& each) {
      return std::ranges::any_of(each.places, &Occurrence::is_definition);
    });
    if (!is_given)
      throw RequestError{kRequestFailed, renamed.shared->file + " defines no `" + renamed.shared->name + "`"};
    for (const NamePlaces& each : places) {
      std::vector<Replacement> replacements;
      for (const Occurrence& at : each.places) replacements.push_back({at.begin, at.end, name});
      add_edits(changes, each.uri, *each.analysis, replacements, renamed.at.name, name, encoding);
    }
  }
  reply({{"changes", std::move(changes)}});
}

constexpr std::array<Feature, 4> kNamesFeatures{
    {{"textDocument/references", "referencesProvider", nullptr, references},
     {"textDocument/documentHighlight", "documentHighlightProvider", nullptr, highlights},
     {"textDocument/rename", "renameProvider", rename_options, rename},
     {"textDocument/prepareRename", "", nullptr, prepare_rename}}};

}  // namespace

std::span<const Feature> name_features() { return kNamesFeatures; }

}  // namespace kiln::editor
