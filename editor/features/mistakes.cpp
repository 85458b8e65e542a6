// Mistakes where the editor asks for them, in place of being told.
#include <array>

#include "editor/features.h"
#include "editor/places.h"

namespace kiln::editor {
namespace {

// Another file may change what a check of this one finds; of files that are not open nothing is told.
Json diagnostic_options() {
  return {{"interFileDependencies", true}, {"workspaceDiagnostics", false}, {"identifier", "kiln"}};
}

void diagnostics(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  server.workspace().when_settled(document, [&server, &document, reply] {
    Json items = Json::array();
    for (const Mistake& each : document.mistakes)
      items.push_back(diagnostic_json(document, each, server.client().encoding));
    reply({{"kind", "full"}, {"items", std::move(items)}});
  });
}

constexpr std::array<Feature, 1> kMistakesFeatures{
    {{"textDocument/diagnostic", "diagnosticProvider", diagnostic_options, diagnostics}}};

}  // namespace

std::span<const Feature> mistake_features() { return kMistakesFeatures; }

}  // namespace kiln::editor
