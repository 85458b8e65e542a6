// `match`: its cases, and the patterns made of what was read as expressions.
#include <algorithm>
#include <set>
#include <string>

#include "lang/builder.h"

namespace kiln::lang {
namespace {

// Both sides of `|` have the same names, and one side is taken.
void add_names(const Pattern& pattern, std::set<std::string_view>& names) {
  if (!pattern.name.empty() && !names.insert(pattern.name).second) {
    syntax_error(pattern.span, "the name `" + std::string(pattern.name) + "` stands twice in a pattern",
                 "give one another name and compare: `if a == b`");
  }
  if (pattern.kind == Pattern::Kind::Either) return add_names(*pattern.parts[0], names);
  for (const Pattern* part : pattern.parts) add_names(*part, names);
}

std::set<std::string_view> names_of(const Pattern& pattern) {
  std::set<std::string_view> names;
  add_names(pattern, names);
  return names;
}

bool is_literal(const Expr& e) {
  switch (e.kind) {
    case ExprKind::None:
    case ExprKind::Bool:
    case ExprKind::Int:
    case ExprKind::Float:
    case ExprKind::Imaginary:
    case ExprKind::String:
      return true;
    case ExprKind::Unary:
      return as<UnaryExpr>(e).op == UnaryOp::Neg && is_literal(*as<UnaryExpr>(e).operand);
    default:
      return false;
  }
}

bool takes_all(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::As) return takes_all(*pattern.parts[0]);
  return pattern.kind == Pattern::Kind::Any || pattern.kind == Pattern::Kind::Name;
}

}  // namespace

Stmt* Builder::match_statement(Node node) {
  auto* made = ast_.make<MatchStmt>(span(node));
  std::vector<Expr*> subjects;
  for (const Node part : rules_of(node, Rule::Expression)) subjects.push_back(expression(part));
  made->subject = tuple_of(subjects);
  std::vector<MatchCase> cases;
  for (const Node part : rules_of(node, Rule::Case)) {
    if (!cases.empty() && !cases.back().guard && takes_all(*cases.back().pattern)) {
      throw UserError(
          {"SyntaxError",
           "this case is never reached",
           {{span(part.first_token()), ""}, {cases.back().pattern->span, "this takes every value"}},
           "a name in a pattern takes any value; a value of a variable is asked for by "
           "`case x if x == name`",
           {}});
    }
    cases.push_back(match_case(part));
  }
  if (cases.empty()) syntax_error(span(node), "a `match` has no case", "write `case pattern { … }`");
  made->cases = keep(cases);
  return made;
}

MatchCase Builder::match_case(Node node) {
  MatchCase made;
  made.span = span(node);
  made.pattern = case_pattern(node);
  names_of(*made.pattern);
  if (const auto guard = child(node, Rule::Expression)) made.guard = expression(*guard);
  made.body = block(*child(node, Rule::Block));
  return made;
}

// `a`, `a, *b` and `a as name`.
Pattern* Builder::case_pattern(Node node) {
  check_commas(node);
  std::vector<Expr*> items;
  std::optional<Token> star;
  for (const Node part : node) {
    if (part.is(Tok::Star)) star = part.token();
    if (!part.is(Rule::Chain)) continue;
    Expr* item = chain(part);
    if (star) item = starred(*std::exchange(star, std::nullopt), item);
    items.push_back(item);
  }
  const Span place = join(items.front()->span, items.back()->span);
  Pattern* made = child(node, Tok::Comma) ? sequence_pattern(items, place) : pattern(*items.front());
  const auto name = child(node, Tok::Name);
  if (!name) return made;
  Pattern* whole = pattern_name(name_of(*name), span(*name));
  whole->kind = Pattern::Kind::As;
  whole->parts = keep(std::vector<Pattern*>{made});
  return whole;
}

Pattern* Builder::make_pattern(Pattern::Kind kind, Span place) {
  auto* made = ast_.make<Pattern>();
  made->kind = kind;
  made->span = place;
  return made;
}

Pattern* Builder::pattern_name(std::string_view name, Span place) {
  auto* made = make_pattern(name == "_" ? Pattern::Kind::Any : Pattern::Kind::Name, place);
  if (name != "_") made->name = name;
  return made;
}

Pattern* Builder::pattern(Expr& e) {
  const Level level(*this, 1, e.span);
  if (is_literal(e) || e.kind == ExprKind::Attribute) {
    auto* made = make_pattern(Pattern::Kind::Value, e.span);
    made->value = &e;
    return made;
  }
  switch (e.kind) {
    case ExprKind::Name:
      return pattern_name(as<NameExpr>(e).name, e.span);
    case ExprKind::List:
      return sequence_pattern(as<ListExpr>(e).items, e.span);
    case ExprKind::Tuple:
      return sequence_pattern(as<TupleExpr>(e).items, e.span);
    case ExprKind::Dict:
      return dict_pattern(as<DictExpr>(e));
    case ExprKind::Call:
      return struct_pattern(as<CallExpr>(e));
    case ExprKind::Binary:
      if (as<BinaryExpr>(e).op == BinaryOp::BitOr) return either_pattern(as<BinaryExpr>(e));
      break;
    case ExprKind::Starred:
      syntax_error(e.span, "`*` takes the rest of a list in a pattern; here is none", "write `[a, *rest]`");
    default:
      break;
  }
  syntax_error(
      e.span, "this cannot stand in a pattern",
      "a pattern is a value, a name, `[…]`, `{…}`, `Struct(…)`, or several with `|`; other conditions "
      "stand behind `if`");
}

Pattern* Builder::sequence_pattern(std::span<Expr* const> items, Span place) {
  auto* made = make_pattern(Pattern::Kind::Sequence, place);
  std::vector<Pattern*> parts;
  for (Expr* item : items) {
    if (item->kind == ExprKind::Starred) {
      if (made->star >= 0) syntax_error(item->span, "only one part of a pattern takes the rest");
      made->star = static_cast<int>(parts.size());
      item = as<StarredExpr>(*item).operand;
      if (item->kind != ExprKind::Name) syntax_error(item->span, "`*` of a pattern takes a name or `_`");
    }
    parts.push_back(pattern(*item));
  }
  made->parts = keep(parts);
  return made;
}

Pattern* Builder::dict_pattern(const DictExpr& e) {
  auto* made = make_pattern(Pattern::Kind::Dict, e.span);
  std::vector<Pattern*> parts;
  std::vector<Expr*> keys;
  for (const DictEntry& entry : e.entries) {
    if (entry.key) {
      if (!is_literal(*entry.key))
        syntax_error(entry.key->span, "a key of a pattern is a literal", "ask for it behind `if`");
      if (keys.size() < parts.size()) syntax_error(entry.key->span, "`**` stands last in a pattern");
      keys.push_back(entry.key);
    } else if (entry.value->kind != ExprKind::Name) {
      syntax_error(entry.value->span, "`**` of a pattern takes a name");
    }
    parts.push_back(pattern(*entry.value));
  }
  if (parts.size() > keys.size() + 1) syntax_error(e.span, "`**` stands twice in a pattern");
  made->parts = keep(parts);
  made->keys = keep(keys);
  return made;
}

Pattern* Builder::struct_pattern(CallExpr& e) {
  const bool named = e.callee->kind == ExprKind::Name || e.callee->kind == ExprKind::Attribute;
  if (!named) syntax_error(e.callee->span, "expected the name of a struct or of a type");
  auto* made = make_pattern(Pattern::Kind::Struct, e.span);
  made->value = e.callee;
  std::vector<Pattern*> parts;
  std::vector<std::string_view> names;
  for (const Argument& argument : e.arguments) {
    if (argument.kind == Argument::Kind::Star || argument.kind == Argument::Kind::DoubleStar)
      syntax_error(argument.value->span, "a pattern of a struct names its fields, each by itself");
    if (argument.kind == Argument::Kind::Named) names.push_back(argument.name);
    parts.push_back(pattern(*argument.value));
  }
  made->parts = keep(parts);
  made->names = keep(names);
  return made;
}

Pattern* Builder::either_pattern(BinaryExpr& e) {
  auto* made = make_pattern(Pattern::Kind::Either, e.span);
  Pattern* const left = pattern(*e.left);
  Pattern* const right = pattern(*e.right);
  if (takes_all(*left))
    syntax_error(left->span, "this takes every value, so what follows `|` is never tried");
  if (names_of(*left) != names_of(*right)) {
    throw UserError({"SyntaxError",
                     "both sides of `|` must give the same names a value",
                     {{right->span, ""}, {left->span, "the other side"}},
                     "",
                     {}});
  }
  made->parts = keep(std::vector<Pattern*>{left, right});
  return made;
}

}  // namespace kiln::lang
