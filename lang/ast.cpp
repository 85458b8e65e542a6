#include "lang/ast.h"

#include <cstring>

namespace kiln::lang {

std::string_view Ast::copy(std::string_view text) {
  if (text.empty()) return {};
  char* memory = static_cast<char*>(arena_.allocate(text.size(), 1));
  std::memcpy(memory, text.data(), text.size());
  return {memory, text.size()};
}

}  // namespace kiln::lang
