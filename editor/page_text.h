// Owns how the page of a name reads in an editor.
#pragma once

#include <string>

#include "editor/message_stream.h"
#include "repl/documentation.h"

namespace kiln::editor {

// Signatures as code, the kind, sentences, examples as code, notes as a list. Markdown.
std::string markdown(const repl::Page& page);
// A piece of Kiln as a block of code.
std::string code_block(std::string_view code);
// A `MarkupContent` of the protocol: Markdown as it is, or without its marks for editors that do not read it.
Json markup_json(const std::string& markdown, bool reads_markdown);

}  // namespace kiln::editor
