#include "repl/symbols.h"

#include <algorithm>
#include <vector>

#include "repl/lines.h"
#include "repl/symbol_pages.h"

namespace kiln::repl {

bool Symbol::has(std::string_view name) const {
  const std::vector<std::string_view> all = lines_of(names);
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::span<const Symbol> symbols() {
  static const std::vector<Symbol> all = [] {
    std::vector<Symbol> rows;
    for (const auto part : {keyword_pages(), operator_pages(), sign_pages()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

const Symbol* find_symbol(std::string_view name) {
  for (const Symbol& symbol : symbols()) {
    if (symbol.has(name)) return &symbol;
  }
  return nullptr;
}

}  // namespace kiln::repl
