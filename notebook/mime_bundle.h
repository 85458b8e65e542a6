// Owns how a value is shown in a notebook: the one place that turns it into texts of several MIME types.
#pragma once

#include "notebook/client.h"
#include "repl/session.h"

namespace kiln::notebook {

// As plain text what the prompt prints; of a tensor also a table as HTML, of a graph a drawing as SVG where
// Graphviz is installed.
Json value_bundle(repl::Session& session, const interp::Value& value);

// A picture as the bytes of a PNG file, with the text that a terminal shows.
Json picture_bundle(std::string_view png, std::string text);

// A page of HTML of its own, in a frame, with a line for those who show only text.
Json page_bundle(std::string_view html);

}  // namespace kiln::notebook
