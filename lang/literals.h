// Owns the values of literals: numbers and the escapes of strings.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "lang/source.h"

namespace kiln::lang {

// The value of `2j`: a number times the imaginary unit.
struct Imaginary {
  double value = 0;
};

// The value of a number as written. `negative`: a minus stands right before it, so that the least integer can
// be written; the value given is then that of both only for it. Throws UserError for malformed numbers and
// overflow.
std::variant<std::int64_t, double, Imaginary> number_value(Span literal, bool negative = false);

// Appends what the text of a string between its quotes stands for. Throws UserError for unknown escapes.
void unescape(Span text, std::string& out);
// Whether `unescape` would change the text.
bool needs_unescaping(std::string_view text);

// Where the text between the quotes of a string token begins and ends; `token` may begin with `f`.
struct QuotedText {
  Span inside;
  bool triple = false;
};
QuotedText quoted_text(Span token);

}  // namespace kiln::lang
