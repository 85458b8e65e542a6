// Owns the table of what an editor may ask for. Each file of features/ has a part.
#pragma once

#include <span>
#include <string_view>

#include "editor/server.h"

namespace kiln::editor {

struct Feature {
  std::string_view method;      // "textDocument/hover"
  std::string_view capability;  // how the server says that it has it: "hoverProvider"
  Json (*options)();            // what it says there; null: true
  // Answers at once or later. Throws RequestError, and Json::exception for parameters that are none.
  void (*answer)(Server& server, const Json& params, const Reply& reply);
};

std::span<const Feature> information_features();  // hover, signature help, hints
std::span<const Feature> completion_features();
std::span<const Feature> navigation_features();  // definition, symbols
std::span<const Feature> name_features();        // references, highlights, rename
std::span<const Feature> edit_features();        // fixes, format
std::span<const Feature> mistake_features();     // diagnostics where the editor asks for them
std::span<const Feature> appearance_features();  // colours, folds
std::span<const Feature> lens_features();        // lenses, and what they run

// Null when the server has no handler for the method.
const Feature* find_feature(std::string_view method);
// What the server can do, as `initialize` says it.
Json capabilities(const ClientInfo& client);

}  // namespace kiln::editor
