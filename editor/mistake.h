// Owns a mistake of a program as it passes from the process that found it to the editor: places are offsets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "editor/message_stream.h"
#include "lang/diagnostic.h"

namespace kiln::editor {

// A place of the document, or of another file that it imports.
struct Place {
  std::string file;  // "" is the document
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t line = 0;    // zero-based, of other files: these are not open
  std::uint32_t column = 0;  // zero-based, in code points
};

struct Note {
  Place place;
  std::string text;
};

struct Replacement {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;
};

struct Mistake {
  std::string kind;
  std::string code;
  std::string message;
  std::string help;
  Place place;  // in the document: where it is, or the call that led to it
  std::vector<Note> notes;
  std::optional<Replacement> fix;
};

// Of a diagnostic about the document that is named so in places; nothing when each place is elsewhere.
std::optional<Mistake> mistake_of(const lang::Diagnostic& diagnostic, const std::string& document);

Json to_json(const Mistake& mistake);
Mistake mistake_from(const Json& json);

}  // namespace kiln::editor
