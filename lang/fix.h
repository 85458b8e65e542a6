// Owns the edit that a diagnostic's help describes, for editors that offer it.
#pragma once

#include <optional>
#include <string>

#include "lang/diagnostic.h"

namespace kiln::lang {

// `text` in the place of `span`. An empty span inserts.
struct Fix {
  Span span;
  std::string text;
};

// The fix of a help that says exactly what to write: "did you mean `relu`?", "write `==`", "delete it".
// Nothing for helps that show a form to follow, and where it is not certain which text is to be replaced. Of
// an error within the standard library nothing, either.
std::optional<Fix> fix_of(const Diagnostic& diagnostic);

}  // namespace kiln::lang
