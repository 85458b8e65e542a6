#include "lang/format_roles.h"

namespace kiln::lang {
namespace {

class RoleFinder {
 public:
  explicit RoleFinder(std::unordered_map<std::uint32_t, TokenRole>& roles) : roles_(roles) {}

  void statement(const Syntax& syntax) {
    const Node whole(syntax, 0);
    begins(whole, false);
    for (std::uint32_t i = 0; i < syntax.entries.size(); ++i) {
      if (syntax.entries[i].is_rule) rule(Node(syntax, i));
    }
    const Node inner = whole.first();
    if (!syntax.ended_by_semicolon || !inner.is(Rule::ExpressionStatement)) return;
    int parts = 0;
    for (const Node part : inner) parts += part.is_rule() ? 1 : 2;
    if (parts == 1) roles_[whole.last_token().begin].ends_silent = true;
  }

 private:
  void set(Token token, Role role) { roles_[token.begin].role = role; }
  void begins(Node node, bool field) {
    TokenRole& role = roles_[node.first_token().begin];
    role.begins_statement = true;
    role.is_field = field;
  }

  static Role role_of(Rule rule, Tok kind, bool annotated) {
    const bool star = kind == Tok::Star || kind == Tok::DoubleStar;
    switch (rule) {
      case Rule::Operand:
        return kind == Tok::Plus || kind == Tok::Minus || kind == Tok::Tilde ? Role::Prefix : Role::Plain;
      case Rule::Call:
        return kind == Tok::LeftParen ? Role::Trailer : Role::Plain;
      case Rule::Index:
      case Rule::Annotation:
        return kind == Tok::LeftBracket ? Role::Trailer : Role::Plain;
      case Rule::Parameters:
        return kind == Tok::LeftParen ? Role::Trailer : Role::Plain;
      case Rule::Item:
      case Rule::Parameter:
        if (kind == Tok::Assign && !annotated) return Role::Tight;
        return star ? Role::Prefix : Role::Plain;
      case Rule::Body:
      case Rule::Function:
      case Rule::Expressions:
      case Rule::Targets:
      case Rule::Subscript:
      case Rule::Pair:
      case Rule::Case:
        return star ? Role::Prefix : Role::Plain;
      case Rule::Decorator:
        return kind == Tok::At ? Role::Prefix : Role::Plain;
      case Rule::Slice:
        return kind == Tok::Colon ? Role::SliceColon : Role::Plain;
      case Rule::Block:
      case Rule::Match:
      case Rule::Struct:
      case Rule::Autograd:
        return kind == Tok::LeftBrace || kind == Tok::RightBrace ? Role::BlockBrace : Role::Plain;
      default:
        return Role::Plain;
    }
  }

  void rule(Node node) {
    bool annotated = false;
    for (const Node part : node) {
      if (part.is(Rule::Annotation)) annotated = true;
      const bool member = node.is(Rule::Member);
      if (part.is(Rule::Statement) || part.is(Rule::Case) || member) begins(part, part.is(Rule::Field));
      if (part.is_rule()) continue;
      const Role role = role_of(node.rule(), part.token().kind, annotated);
      if (role != Role::Plain) set(part.token(), role);
    }
  }

  std::unordered_map<std::uint32_t, TokenRole>& roles_;
};

}  // namespace

std::unordered_map<std::uint32_t, TokenRole> token_roles(const SourceFile& file) {
  std::unordered_map<std::uint32_t, TokenRole> roles;
  SyntaxReader reader(file, 0, static_cast<std::uint32_t>(file.text().size()), false, 0);
  RoleFinder finder(roles);
  Syntax syntax;
  while (reader.next_statement(syntax)) finder.statement(syntax);
  return roles;
}

}  // namespace kiln::lang
