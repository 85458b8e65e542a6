// Owns the pages of what has no name of its own: keywords, operators, brackets and other signs.
#pragma once

#include <span>
#include <string_view>

namespace kiln::repl {

struct Symbol {
  std::string_view names;          // one a line, "==\n!="
  std::string_view form;           // how it is written: "x == y"
  std::string_view documentation;  // sentences, then `>>> ` examples that run
  // Is it one of the names?
  bool has(std::string_view name) const;
};

std::span<const Symbol> symbols();
// Null when there is none of that name.
const Symbol* find_symbol(std::string_view name);

}  // namespace kiln::repl
