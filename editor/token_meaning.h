// Owns what each token of a program means, beyond its class: a parameter, a struct, a function of the
// library.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "editor/analysis.h"
#include "interpreter/interpreter.h"

namespace kiln::editor {

enum class TokenType : std::uint8_t {
  Namespace,
  Type,
  Class,
  Function,
  Method,
  Property,
  Variable,
  Parameter,
  Keyword,
  String,
  Number,
  Comment,
};
inline constexpr std::uint32_t kDeclaration = 1, kOfLibrary = 2;  // modifiers

// The names of the protocol, in the order of TokenType.
std::span<const std::string_view> token_types();

struct MeantToken {
  std::uint32_t begin;
  std::uint32_t end;
  TokenType type;
  std::uint32_t modifiers = 0;
};

// In order of place; operators, brackets and white space are left out. `library` is asked what names mean
// that the text does not define.
std::vector<MeantToken> meant_tokens(const Analysis& analysis, interp::Interpreter& library);

}  // namespace kiln::editor
