// Owns the stable codes of errors: which code a diagnostic has, and the page that explains it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace kiln::lang {

// A row of the table. The places that raise errors know no codes: a diagnostic has that of the first row of
// its kind whose pattern its sentence fits, else that of its kind. A code is never given to another mistake.
struct ErrorCode {
  std::string_view code;         // "K0501"
  std::string_view kind;         // "ShapeError"
  std::string_view patterns;     // of the sentence, one a line; `*` is any text. "": the rest of the kind
  std::string_view title;        // "a product whose inner sizes differ"
  std::string_view explanation;  // why it is an error, and the ways out
  std::string_view wrong;        // a program that ends with this error; "" where none does so by itself
  std::string_view right;        // what was meant
};

// All of them, by code.
const std::vector<ErrorCode>& error_codes();

// The row of a diagnostic by its kind and sentence. Text that a program throws has that of `Error`.
const ErrorCode& error_code(std::string_view kind, std::string_view message);

// The row of a code, "K0501" or "k0501"; null for a code that no row has.
const ErrorCode* find_error_code(std::string_view code);

}  // namespace kiln::lang
