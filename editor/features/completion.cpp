// What may be typed next.
#include <array>
#include <string>

#include "editor/features.h"
#include "editor/page_text.h"
#include "editor/places.h"

namespace kiln::editor {
namespace {

struct Kind {
  std::string_view name;  // of a candidate
  int number;             // of the protocol
};
constexpr std::array<Kind, 13> kKinds{{{"method", 2},
                                       {"function", 3},
                                       {"field", 5},
                                       {"name", 6},
                                       {"variable", 6},
                                       {"struct", 7},
                                       {"module", 9},
                                       {"argument", 5},
                                       {"value", 12},
                                       {"keyword", 14},
                                       {"file", 17},
                                       {"key", 20},
                                       {"type", 25}}};

int number_of(std::string_view kind) {
  constexpr int kText = 1;
  for (const Kind& each : kKinds) {
    if (each.name == kind) return each.number;
  }
  return kText;
}

// Editors sort by text: the order of the candidates is their number, "0007".
std::string sort_text(std::size_t place) {
  std::string digits = std::to_string(place);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

Json options() { return {{"triggerCharacters", {".", "@", "\"", "(", "="}}, {"resolveProvider", true}}; }

Json item_json(const Document& document, const Json& range, const Json& candidate, std::size_t place) {
  const std::string text = candidate.at(0);
  Json item = {{"label", text},
               {"kind", number_of(candidate.at(1).get<std::string>())},
               {"sortText", sort_text(place)},
               {"filterText", text},
               {"textEdit", {{"range", range}, {"newText", text}}},
               {"data", {{"uri", document.uri()}, {"name", text}}}};
  if (const std::string detail = candidate.at(2); !detail.empty()) item["detail"] = detail;
  return item;
}

Json list_json(const Document& document, const Json& found, std::size_t cursor, Encoding encoding) {
  Json items = Json::array();
  if (!found.is_null()) {
    const Json range = range_json(document.text(), found.at("begin"), cursor, encoding);
    for (const Json& each : found.at("items"))
      items.push_back(item_json(document, range, each, items.size()));
  }
  // What fits is worked out by the word: another letter is another question.
  return {{"isIncomplete", true}, {"items", std::move(items)}};
}

void complete(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  const std::size_t cursor = server.offset_of(document, params);
  server.workspace().ask(
      &document, {{"ask", "complete"}, {"text", document.text().str()}, {"at", cursor}},
      [&server, uri = document.uri(), version = document.version(), cursor, reply](const Json& found) {
        const Document* const now = server.workspace().find(uri);
        const bool is_same = now != nullptr && now->version() == version;
        if (!is_same) return reply({{"isIncomplete", true}, {"items", Json::array()}});
        reply(list_json(*now, found, cursor, server.client().encoding));
      });
}

// An editor that reads no Markdown may read plain text alone.
Json documentation_json(const std::string& page, bool reads_markdown) {
  Json content = markup_json(page, reads_markdown);
  return reads_markdown ? content : content.at("value");
}

// Adds its documentation to an item that the editor shows.
void resolve(Server& server, const Json& params, const Reply& reply) {
  if (!params.contains("data")) return reply(params);
  Document* const document = server.workspace().find(params["data"].at("uri"));
  server.workspace().ask(
      document, {{"ask", "page"}, {"names", {params["data"].at("name")}}},
      [reply, item = params, markdown = server.client().reads_markdown_in_completion](const Json& page) {
        Json told = item;
        if (!page.is_null()) told["documentation"] = documentation_json(page.at("text"), markdown);
        reply(std::move(told));
      });
}

constexpr std::array<Feature, 2> kCompletionFeatures{
    {{"textDocument/completion", "completionProvider", options, complete},
     {"completionItem/resolve", "", nullptr, resolve}}};

}  // namespace

std::span<const Feature> completion_features() { return kCompletionFeatures; }

}  // namespace kiln::editor
