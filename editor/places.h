// Owns how places and mistakes of documents read in the protocol.
#pragma once

#include "editor/document.h"

namespace kiln::editor {

// A `Diagnostic` of the protocol: the sentence with its help, and what else is to be looked at.
Json diagnostic_json(const Document& document, const Mistake& mistake, Encoding encoding);
// A `Location`: of the document, or of a file that is not open.
Json location_json(const Document& document, const Place& place, Encoding encoding);
// A `TextEdit`.
Json edit_json(const Text& text, std::size_t begin, std::size_t end, std::string with, Encoding encoding);

}  // namespace kiln::editor
