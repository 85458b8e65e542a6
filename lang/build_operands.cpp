#include <map>
#include <string>

#include "lang/builder.h"
#include "lang/literals.h"

namespace kiln::lang {

// Where no operator may stand: a target, a decorator.
Expr* Builder::operand_as_target(Node node) {
  const Node first = node.first();
  const bool prefixed =
      first.is(Tok::Minus) || first.is(Tok::Plus) || first.is(Tok::Tilde) || first.is(Tok::Not);
  if (prefixed) syntax_error(span(first), "expected a name, found " + std::string(words(first.token().kind)));
  return operand(node);
}

Expr* Builder::operand(Node node) {
  auto part = node.begin();
  while ((*part).is(Tok::Minus) || (*part).is(Tok::Plus) || (*part).is(Tok::Tilde) || (*part).is(Tok::Not))
    ++part;
  const Token first = (*part).first_token();
  // Each call, index or attribute is one level above what it applies to.
  int levels = 0;
  for (auto rest = part; !(++rest == node.end());) ++levels;
  const Level level(*this, levels, span(first));
  Expr* made = atom(*part);
  while (!(++part == node.end())) {
    const Node trailer = *part;
    const Span whole{&file_, first.begin, trailer.last_token().end};
    if (trailer.is(Rule::Call)) {
      made = call(trailer, made, whole);
    } else if (trailer.is(Rule::Index)) {
      made = index(trailer, made, whole);
    } else if (trailer.is(Tok::Name)) {
      auto* attribute = ast_.make<AttributeExpr>(whole);
      attribute->object = made;
      attribute->name = name_of(trailer.token());
      attribute->name_span = span(trailer);
      made = attribute;
    }
  }
  return made;
}

Expr* Builder::atom(Node node) {
  if (node.is(Rule::Group)) return group(node);
  if (node.is(Rule::List)) return list(node);
  if (node.is(Rule::Dict)) return dict(node);
  const Token token = node.token();
  const Span place = span(token);
  switch (token.kind) {
    case Tok::Name: {
      auto* made = ast_.make<NameExpr>(place);
      made->name = name_of(token);
      return made;
    }
    case Tok::Number: {
      const auto value = number_value(place);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        auto* made = ast_.make<IntExpr>(place);
        made->value = *integer;
        return made;
      }
      if (const auto* imaginary = std::get_if<Imaginary>(&value)) {
        auto* made = ast_.make<ImaginaryExpr>(place);
        made->value = imaginary->value;
        return made;
      }
      auto* made = ast_.make<FloatExpr>(place);
      made->value = std::get<double>(value);
      return made;
    }
    case Tok::String:
      return string(token);
    case Tok::FString:
      return fstring(token);
    case Tok::True:
    case Tok::False: {
      auto* made = ast_.make<BoolExpr>(place);
      made->value = token.kind == Tok::True;
      return made;
    }
    case Tok::Ellipsis:
      return ast_.make<EllipsisExpr>(place);
    default:
      return ast_.make<NoneExpr>(place);
  }
}

// An item of a list, tuple or call that is a value or `*value`; `where` words the error for anything else.
Expr* Builder::plain_item(Node item, const char* where) {
  if (has_clause(item)) return comprehension(item, span(item));
  std::optional<Token> star;
  Expr* value = nullptr;
  for (const Node part : item) {
    if (part.is(Tok::Star)) star = part.token();
    if (part.is(Tok::DoubleStar))
      syntax_error(span(part), std::string("`**` spreads a dict into a call or a dict, not into ") + where);
    if (part.is(Tok::Assign)) {
      syntax_error(span(part), std::string("`=` assigns, which cannot happen in ") + where,
                   "to compare, write `==`");
    }
    if (part.is(Rule::Annotation)) syntax_error(span(part), std::string("a type cannot stand in ") + where);
    if (part.is(Rule::Expression) && !value) value = expression(part);
  }
  if (!star) return value;
  auto* made = ast_.make<StarredExpr>(join(span(*star), value->span));
  made->operand = value;
  return made;
}

Expr* Builder::group(Node node) {
  check_commas(node);
  const std::vector<Node> items = rules_of(node, Rule::Item);
  const bool tuple = items.empty() || child(node, Tok::Comma);
  std::vector<Expr*> values;
  for (const Node item : items) {
    if (tuple && has_clause(item)) {
      syntax_error(span(item), "a comprehension stands alone in its brackets",
                   "write `[… for … in …]` around it");
    }
    values.push_back(plain_item(item, "parentheses"));
  }
  if (tuple) {
    auto* made = ast_.make<TupleExpr>(span(node));
    made->items = keep(values);
    return made;
  }
  Expr* value = values.front();
  if (value->kind == ExprKind::Starred) {
    syntax_error(value->span, "`*` spreads a value inside a call, a list or a tuple; here there is none",
                 "a tuple of one is written `(" + std::string(value->span.text()) + ",)`");
  }
  value->span = span(node);  // so that a caret shows the parentheses too
  return value;
}

Expr* Builder::list(Node node) {
  check_commas(node);
  const std::vector<Node> items = rules_of(node, Rule::Item);
  if (items.size() == 1 && has_clause(items[0]) && !child(node, Tok::Comma))
    return comprehension(items[0], span(node));
  std::vector<Expr*> values;
  for (const Node item : items) {
    if (has_clause(item)) {
      syntax_error(span(item), "a comprehension stands alone in its brackets",
                   "write `[… for … in …]` around it");
    }
    values.push_back(plain_item(item, "a list"));
  }
  auto* made = ast_.make<ListExpr>(span(node));
  made->items = keep(values);
  return made;
}

Expr* Builder::dict(Node node) {
  check_commas(node);
  const std::vector<Node> pairs = rules_of(node, Rule::Pair);
  if (pairs.size() == 1 && has_clause(pairs[0])) return comprehension_in_braces(pairs[0], span(node));
  if (!pairs.empty() && is_set_item(pairs[0])) return set(node, pairs);
  std::vector<DictEntry> entries;
  for (const Node pair : pairs) {
    if (has_clause(pair)) syntax_error(span(pair), "a comprehension stands alone in its braces");
    if (is_set_item(pair)) {
      syntax_error(span(pair), "a value without a key stands in a dict",
                   "a dict has `key: value` everywhere, a set values alone");
    }
    const std::vector<Node> sides = rules_of(pair, Rule::Expression);
    DictEntry entry;
    if (sides.size() > 1) entry.key = expression(sides.front());
    entry.value = expression(sides.back());
    entries.push_back(entry);
  }
  auto* made = ast_.make<DictExpr>(span(node));
  made->entries = keep(entries);
  return made;
}

Expr* Builder::set(Node node, const std::vector<Node>& values) {
  std::vector<Expr*> items;
  for (const Node each : values) {
    if (has_clause(each)) syntax_error(span(each), "a comprehension stands alone in its braces");
    if (!is_set_item(each)) {
      syntax_error(span(each), "a key stands in a set",
                   "a dict has `key: value` everywhere, a set values alone");
    }
    Expr* const value = expression(*child(each, Rule::Expression));
    const auto star = child(each, Tok::Star);
    items.push_back(star ? starred(*star, value) : value);
  }
  auto* made = ast_.make<SetExpr>(span(node));
  made->items = keep(items);
  return made;
}

Expr* Builder::comprehension(Node item, Span place) {
  auto* made = ast_.make<ComprehensionExpr>(place);
  for (const Node part : item) {
    const bool fits = part.is(Rule::Expression) || part.is(Rule::Clause);
    if (!fits) syntax_error(span(part), "a comprehension makes one value at a time", "take this out of it");
  }
  made->element = expression(item.first());
  made->clauses = clauses(item);
  return made;
}

Expr* Builder::comprehension_in_braces(Node pair, Span place) {
  auto* made = ast_.make<ComprehensionExpr>(place);
  const std::vector<Node> sides = rules_of(pair, Rule::Expression);
  made->is_set = sides.size() == 1;
  if (!made->is_set) made->key = expression(sides[0]);
  made->element = expression(sides.back());
  made->clauses = clauses(pair);
  return made;
}

std::span<ComprehensionClause> Builder::clauses(Node node) {
  std::vector<ComprehensionClause> made;
  for (const Node part : rules_of(node, Rule::Clause)) {
    const Level level(*this, static_cast<int>(made.size()) + 1, span(part.first_token()));
    ComprehensionClause clause;
    clause.target = targets(*child(part, Rule::Targets));
    std::vector<Expr*> conditions;
    for (const Node each : rules_of(part, Rule::Chain)) {
      if (!clause.iterable) {
        clause.iterable = chain(each);
      } else {
        conditions.push_back(chain(each));
      }
    }
    clause.conditions = keep(conditions);
    made.push_back(clause);
  }
  return keep(made);
}

Argument Builder::argument(Node item, bool alone) {
  Argument made;
  if (has_clause(item)) {
    if (!alone) {
      syntax_error(span(item), "a comprehension beside other arguments needs brackets",
                   "write `[… for … in …]`");
    }
    made.value = comprehension(item, span(item));
    return made;
  }
  std::optional<Node> first;
  for (const Node part : item) {
    if (part.is(Tok::Star)) made.kind = Argument::Kind::Star;
    if (part.is(Tok::DoubleStar)) made.kind = Argument::Kind::DoubleStar;
    if (part.is(Rule::Annotation)) {
      syntax_error(span(part), "a type cannot stand in a call", "a named argument is written `name=value`");
    }
    if (part.is(Tok::Assign)) {
      const auto name = bare_name(*first);
      if (!name)
        syntax_error(span(*first), "expected the name of an argument before `=`", "to compare, write `==`");
      made.kind = Argument::Kind::Named;
      made.name = name_of(*name);
      made.name_span = span(*name);
    }
    if (!part.is(Rule::Expression)) continue;
    if (!first) first = part;
    // The name of a named argument is no expression.
    if (made.kind == Argument::Kind::Named || !child(item, Tok::Assign)) made.value = expression(part);
  }
  return made;
}

Expr* Builder::call(Node node, Expr* callee, Span place) {
  check_commas(node);
  const std::vector<Node> items = rules_of(node, Rule::Item);
  std::vector<Argument> arguments;
  std::map<std::string_view, Span> names;
  const Argument* named = nullptr;
  arguments.reserve(items.size());
  for (const Node item : items) {
    const Argument& made = arguments.emplace_back(argument(item, items.size() == 1));
    if (made.kind == Argument::Kind::Named) named = &made;
    if (made.kind == Argument::Kind::Positional && named) {
      syntax_error(made.value->span,
                   "an argument without a name cannot follow `" + std::string(named->name) + "=`",
                   "give it by name too, or put it first");
    }
    if (made.kind != Argument::Kind::Named) continue;
    if (const auto [first, fresh] = names.emplace(made.name, made.name_span); !fresh) {
      throw UserError({"SyntaxError",
                       "the argument `" + std::string(made.name) + "` is given twice",
                       {{made.name_span, ""}, {first->second, "first given here"}},
                       "",
                       {}});
    }
  }
  auto* made = ast_.make<CallExpr>(place);
  made->callee = callee;
  made->arguments = keep(arguments);
  return made;
}

Expr* Builder::index(Node node, Expr* object, Span place) {
  check_commas(node);
  std::vector<Expr*> items;
  for (const Node part : rules_of(node, Rule::Subscript)) items.push_back(subscript(part));
  auto* made = ast_.make<IndexExpr>(place);
  made->object = object;
  made->items = keep(items);
  made->is_tuple = child(node, Tok::Comma).has_value();
  return made;
}

Expr* Builder::subscript(Node node) {
  const Node first = node.first();
  const Level level(*this, 1, span(node.first_token()));
  if (first.is(Tok::Star)) {
    auto* made = ast_.make<StarredExpr>(span(node));
    made->operand = expression(*child(node, Rule::Expression));
    return made;
  }
  if (child(node, Rule::Slice)) return slice(node);
  return expression(first);
}

Expr* Builder::slice(Node node) {
  auto* made = ast_.make<SliceExpr>(span(node));
  if (node.first().is(Rule::Expression)) made->start = expression(node.first());
  Expr** next = nullptr;
  const Node rest = *child(node, Rule::Slice);
  for (const Node part : rest) {
    if (part.is(Tok::Colon)) next = next ? &made->step : &made->stop;
    if (part.is(Rule::Expression)) *next = expression(part);
  }
  return made;
}

}  // namespace kiln::lang
