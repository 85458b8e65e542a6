#include "editor/names_asked.h"

#include "lang/syntax.h"

namespace kiln::editor {
namespace {

// "tensor" of "f32[2, 3]", "list" of "list of 3".
std::string word_of_type(const std::string& type) {
  if (type.find('[') != std::string::npos && type.back() == ']') return "tensor";
  return type.substr(0, type.find(' '));
}

// Is it names and points alone, "model.layers"?
bool is_dotted(const lang::Expr& e) {
  if (e.kind == lang::ExprKind::Attribute) return is_dotted(*lang::as<lang::AttributeExpr>(e).object);
  return e.kind == lang::ExprKind::Name;
}

}  // namespace

Json names_of_member(Document& document, const lang::AttributeExpr& member) {
  Json names = Json::array();
  const std::string name(member.name);
  if (is_dotted(*member.object)) names.push_back(std::string(member.object->span.text()) + "." + name);
  const std::string& type = document.types().type_of(member.object->span.begin, member.object->span.end);
  if (!type.empty()) names.push_back(word_of_type(type) + "." + name);
  names.push_back("tensor." + name);
  names.push_back(name);
  return names;
}

lang::Span token_at(const Analysis& analysis, std::size_t offset) {
  const lang::SourceFile& file = analysis.file();
  const std::uint32_t number = file.locate(static_cast<std::uint32_t>(offset)).line;
  const std::uint32_t start = file.line_start(number);
  for (const lang::Token& token : lang::lex(file.line(number))) {
    const lang::Span span{&file, start + token.begin, start + token.end};
    const bool is_layout = token.kind == lang::Tok::Space || token.kind == lang::Tok::Newline;
    if (!is_layout && span.begin <= offset && offset < span.end) return span;
  }
  return {&file, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset)};
}

std::string kind_text(const Symbol& symbol) {
  const std::string owner = symbol.owner == nullptr || symbol.owner->name.empty()
                                ? ""
                                : " of `" + std::string(symbol.owner->name) + "`";
  switch (symbol.kind) {
    case SymbolKind::Parameter:
      return "parameter" + owner;
    case SymbolKind::Size:
      return "size in the signature" + owner;
    case SymbolKind::Function:
      return "function";
    case SymbolKind::Struct:
      return "struct";
    case SymbolKind::Module:
      return "module";
    case SymbolKind::Variable:
      break;
  }
  return "variable" + owner;
}

}  // namespace kiln::editor
