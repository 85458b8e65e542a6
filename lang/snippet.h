// Owns the picture of one source line with marks and texts below it.
#pragma once

#include <string>
#include <vector>

#include "lang/diagnostic.h"

namespace kiln::lang {

// Escape sequences, or nothing when the text is plain.
struct Palette {
  std::string_view kind;       // of the error, and its place
  std::string_view strong;     // the sentence
  std::string_view secondary;  // other places
  std::string_view frame;      // line numbers and rules
  std::string_view help;
  std::string_view reset;
};
extern const Palette kPlain;
extern const Palette kColored;

// A label as the snippet of its line shows it.
struct Mark {
  const Label* label = nullptr;
  bool primary = false;
};

// The line, the marks under it and their texts: the rightmost text on the line of the marks, the others
// below, each line behind a gutter of `gutter` columns. All marks begin on line `line` of `file`. Ends in a
// newline.
std::string draw_snippet(const SourceFile& file, std::uint32_t line, const std::vector<Mark>& marks,
                         int gutter, const Palette& palette);

}  // namespace kiln::lang
