#include "editor/token_meaning.h"

#include <array>

namespace kiln::editor {
namespace {

using interp::Tag;
using lang::TokenClass;

TokenType type_of(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Function:
      return TokenType::Function;
    case SymbolKind::Struct:
      return TokenType::Class;
    case SymbolKind::Module:
      return TokenType::Namespace;
    case SymbolKind::Parameter:
    case SymbolKind::Size:
      return TokenType::Parameter;
    case SymbolKind::Variable:
      break;
  }
  return TokenType::Variable;
}

TokenType type_of(const interp::Value* value) {
  if (value == nullptr) return TokenType::Variable;
  switch (value->tag()) {
    case Tag::Native:
    case Tag::Function:
      return TokenType::Function;
    case Tag::StructType:
      return TokenType::Class;
    case Tag::Module:
      return TokenType::Namespace;
    case Tag::Type:
    case Tag::DType:
      return TokenType::Type;
    default:
      return TokenType::Variable;
  }
}

class Meanings {
 public:
  Meanings(const Analysis& analysis, interp::Interpreter& library)
      : symbols_(analysis.symbols()), text_(analysis.file().text()), library_(library) {}

  MeantToken of_name(std::uint32_t begin, std::uint32_t end) {
    const Symbol* const symbol = symbols_.at(begin);
    for (const Occurrence& each : symbol == nullptr ? std::vector<Occurrence>() : symbol->occurrences) {
      if (each.begin != begin) continue;
      if (!symbol->is_defined()) return {begin, end, type_of(library_.lookup(symbol->name)), kOfLibrary};
      return {begin, end, type_of(symbol->kind), each.is_definition ? kDeclaration : 0};
    }
    // A member, a field, a method or the name of an argument.
    const std::size_t next = text_.find_first_not_of(' ', end);
    const bool is_called = next != std::string_view::npos && text_[next] == '(';
    return {begin, end, is_called ? TokenType::Method : TokenType::Property};
  }

 private:
  const SymbolTable& symbols_;
  std::string_view text_;
  interp::Interpreter& library_;
};

}  // namespace

std::span<const std::string_view> token_types() {
  static constexpr std::array<std::string_view, 12> kNames{"namespace", "type",     "class",    "function",
                                                           "method",    "property", "variable", "parameter",
                                                           "keyword",   "string",   "number",   "comment"};
  return kNames;
}

std::vector<MeantToken> meant_tokens(const Analysis& analysis, interp::Interpreter& library) {
  std::vector<MeantToken> tokens;
  Meanings meanings(analysis, library);
  for (const lang::ClassifiedToken& each : lang::classify(analysis.file().text())) {
    switch (each.kind) {
      case TokenClass::Name:
        tokens.push_back(meanings.of_name(each.begin, each.end));
        break;
      case TokenClass::Keyword:
        tokens.push_back({each.begin, each.end, TokenType::Keyword});
        break;
      case TokenClass::String:
        tokens.push_back({each.begin, each.end, TokenType::String});
        break;
      case TokenClass::Number:
        tokens.push_back({each.begin, each.end, TokenType::Number});
        break;
      case TokenClass::Comment:
        tokens.push_back({each.begin, each.end, TokenType::Comment});
        break;
      default:
        break;
    }
  }
  return tokens;
}

}  // namespace kiln::editor
