#include <optional>
#include <string>
#include <utility>

#include "lang/builder.h"
#include "lang/literals.h"
#include "lang/names.h"
#include "lang/parse.h"
#include "lang/utf8.h"

namespace kiln::lang {

Builder::Level::Level(Builder& builder, int levels, Span place) : builder_(builder), levels_(levels) {
  if (builder.depth_ + levels > kMaxDepth) {
    syntax_error(place, "this is nested too deeply: more than " + std::to_string(kMaxDepth) + " levels",
                 "give parts of it a name of their own");
  }
  builder_.depth_ += levels_;
}

std::vector<Node> Builder::rules_of(Node node, Rule rule) {
  std::vector<Node> found;
  for (const Node part : node) {
    if (part.is(rule)) found.push_back(part);
  }
  return found;
}

std::optional<Node> Builder::child(Node node, Rule rule) {
  for (const Node part : node) {
    if (part.is(rule)) return part;
  }
  return std::nullopt;
}

std::optional<Token> Builder::child(Node node, Tok kind) {
  for (const Node part : node) {
    if (part.is(kind)) return part.token();
  }
  return std::nullopt;
}

std::optional<Token> Builder::bare_name(Node expression) {
  Node node = expression;
  while (node.is_rule()) {
    auto part = node.begin();
    const Node first = *part;
    if (!(++part == node.end())) return std::nullopt;
    node = first;
  }
  if (!node.is(Tok::Name)) return std::nullopt;
  return node.token();
}

// ASCII, the common case, is what it is.
std::string_view Builder::normalized(std::string_view spelling) {
  if (is_ascii(spelling)) return spelling;
  const std::string name = normalized_name(spelling);
  return name == spelling ? spelling : ast_.copy(name);
}

void Builder::check_commas(Node node) {
  bool after_comma = false;
  for (const Node part : node) {
    const bool comma = part.is(Tok::Comma);
    if (comma && after_comma) syntax_error(span(part.token()), "expected an expression between the commas");
    after_comma = comma;
  }
}

Stmt* Builder::top_statement(const Syntax& syntax, const std::vector<DocumentationLines>& documentation) {
  documentation_ = &documentation;
  Stmt* made = statement(Node(syntax, 0));
  if (made->kind == StmtKind::Expr) as<ExprStmt>(*made).shown = !syntax.ended_by_semicolon;
  return made;
}

Stmt* Builder::statement(Node node) {
  const Node inner = node.first();
  if (inner.is(Tok::Break)) return ast_.make<BreakStmt>(span(node));
  if (inner.is(Tok::Continue)) return ast_.make<ContinueStmt>(span(node));
  switch (inner.rule()) {
    case Rule::If:
      return if_statement(inner);
    case Rule::While:
      return while_statement(inner);
    case Rule::For:
      return for_statement(inner);
    case Rule::Struct:
      return struct_statement(inner, inner, {});
    case Rule::Autograd:
      return autograd_statement(inner, inner);
    case Rule::Decorated:
      return decorated(inner);
    case Rule::With:
      return with_statement(inner);
    case Rule::Try:
      return try_statement(inner);
    case Rule::Match:
      return match_statement(inner);
    case Rule::Yield:
      return yield_statement(inner);
    case Rule::Del:
      return del_statement(inner);
    case Rule::Return:
      return return_statement(inner);
    case Rule::Throw:
      return throw_statement(inner);
    case Rule::Assert:
      return assert_statement(inner);
    case Rule::Import:
      return import_statement(inner);
    case Rule::From:
      return from_statement(inner);
    case Rule::Nonlocal:
      return nonlocal_statement(inner);
    default:
      return expression_statement(inner);
  }
}

Block* Builder::block(Node node) {
  const Level level(*this, 1, span(node.first_token()));
  std::vector<Stmt*> statements;
  for (const Node part : node) {
    if (part.is(Rule::Statement)) statements.push_back(statement(part));
  }
  auto* made = ast_.make<Block>();
  made->span = span(node);
  made->statements = keep(statements);
  return made;
}

// `a`, `a, b`, `*a, b`: one expression, or a tuple when there is a comma. `given` stands for the first of
// them.
Expr* Builder::expressions(Node node, Expr* given) {
  check_commas(node);
  std::vector<Expr*> items;
  bool tuple = false;
  std::optional<Token> star;
  const Level level(*this, 1, span(node.first_token()));
  for (const Node part : node) {
    if (part.is(Tok::Comma)) tuple = true;
    if (part.is(Tok::Star)) star = part.token();
    if (!part.is_rule()) continue;
    Expr* item = given && items.empty()   ? given
                 : part.is(Rule::Operand) ? operand_as_target(part)
                                          : expression(part);
    if (star) item = starred(*std::exchange(star, std::nullopt), item);
    items.push_back(item);
  }
  if (!tuple) return items.front();
  auto* made = ast_.make<TupleExpr>(given ? join(given->span, span(node)) : span(node));
  made->items = keep(items);
  return made;
}

// Several expressions are a tuple, one is itself.
Expr* Builder::tuple_of(const std::vector<Expr*>& items) {
  if (items.size() == 1) return items.front();
  auto* tuple = ast_.make<TupleExpr>(join(items.front()->span, items.back()->span));
  tuple->items = keep(items);
  return tuple;
}

Expr* Builder::starred(Token star, Expr* operand) {
  auto* made = ast_.make<StarredExpr>(join(span(star), operand->span));
  made->operand = operand;
  return made;
}

// Of `expressions` that are a value: `*` alone is none.
Expr* Builder::value_of(Expr* expressions) {
  if (expressions->kind == ExprKind::Starred) {
    syntax_error(expressions->span,
                 "`*` spreads a value inside a call, a list or a tuple; here there is none");
  }
  return expressions;
}

// `fn f(x) = a` and `fn f(x) = a, b`, where the values behind the first were read as if they stood beside the
// function. Null for what is no definition.
Stmt* Builder::short_function(Node statement, Node function) {
  const Node values = statement.first();
  auto rest = values.begin();
  const bool alone = ++rest == values.end();
  if (!child(function, Tok::Name) || (!alone && !child(function, Rule::Expression))) return nullptr;
  FunctionStmt* made = function_statement(function, statement, {});
  if (alone) {
    if (made->function->expression) value_of(made->function->expression);
    return made;
  }
  made->function->span = made->span;
  made->function->expression = expressions(values, made->function->expression);
  return made;
}

Stmt* Builder::expression_statement(Node node) {
  auto part = node.begin();
  const Node first = *part;
  if (!(++part == node.end())) return assignment(node);
  // A function with a name, which is a definition when nothing surrounds it.
  const Node whole = first.first();
  if (whole.is(Rule::Expression) && whole.first().is(Rule::Function)) {
    if (Stmt* made = short_function(node, whole.first())) return made;
  }
  auto* made = ast_.make<ExprStmt>(span(node));
  made->value = value_of(expressions(first));
  return made;
}

// `x = yield e`
Stmt* Builder::sent_assignment(Node node, Node yield, std::span<Expr* const> targets) {
  if (targets.size() > 1) {
    syntax_error(span(node), "what is sent to a `yield` has one target",
                 "write `x = yield e`, and assign x to the others");
  }
  auto* made = &as<YieldStmt>(*yield_statement(yield));
  made->span = span(node);
  made->target = targets.front();
  check_target(*made->target);
  return made;
}

Stmt* Builder::assignment(Node node) {
  std::vector<Expr*> sides;
  std::optional<Token> augmented;
  for (const Node part : node) {
    if (part.is(Tok::Augmented)) augmented = part.token();
    if (part.is(Rule::Yield)) return sent_assignment(node, part, sides);
    if (part.is_rule()) sides.push_back(expressions(part));
  }
  value_of(sides.back());
  if (augmented) {
    auto* made = ast_.make<AugAssignStmt>(span(node));
    made->op = augmented_operator(text(*augmented));
    made->op_span = span(*augmented);
    made->target = sides[0];
    made->value = sides[1];
    if (made->target->kind == ExprKind::Tuple || made->target->kind == ExprKind::List) {
      syntax_error(made->target->span,
                   "`" + std::string(text(*augmented)) + "` changes one target, not several");
    }
    check_target(*made->target);
    return made;
  }
  auto* made = ast_.make<AssignStmt>(span(node));
  made->value = sides.back();
  sides.pop_back();
  for (const Expr* target : sides) check_target(*target);
  made->targets = keep(sides);
  return made;
}

Stmt* Builder::if_statement(Node node) {
  const Level level(*this, 1, span(node.first_token()));
  auto* made = ast_.make<IfStmt>(span(node));
  for (const Node part : node) {
    if (part.is(Rule::Expression)) made->condition = expression(part);
    if (part.is(Rule::Block)) (made->then ? made->otherwise : made->then) = block(part);
    if (part.is(Rule::If)) {
      made->otherwise = ast_.make<Block>();
      made->otherwise->span = span(part);
      made->otherwise->statements = keep(std::vector<Stmt*>{if_statement(part)});
    }
  }
  return made;
}

Stmt* Builder::while_statement(Node node) {
  auto* made = ast_.make<WhileStmt>(span(node));
  made->condition = expression(*child(node, Rule::Expression));
  made->body = block(*child(node, Rule::Block));
  return made;
}

Stmt* Builder::for_statement(Node node) {
  auto* made = ast_.make<ForStmt>(span(node));
  made->target = targets(*child(node, Rule::Targets));
  std::vector<Expr*> iterables;
  for (const Node part : rules_of(node, Rule::Expression)) iterables.push_back(expression(part));
  made->iterable = tuple_of(iterables);
  made->body = block(*child(node, Rule::Block));
  return made;
}

Stmt* Builder::with_statement(Node node) {
  auto* made = ast_.make<WithStmt>(span(node));
  const std::vector<Node> parts = rules_of(node, Rule::WithItem);
  const Level level(*this, static_cast<int>(parts.size()), span(node.first_token()));  // one within the other
  std::vector<WithItem> items;
  for (const Node part : parts) {
    WithItem item;
    item.value = expression(*child(part, Rule::Expression));
    if (const auto target = child(part, Rule::Operand)) {
      item.target = operand_as_target(*target);
      check_target(*item.target);
    }
    items.push_back(item);
  }
  made->items = keep(items);
  made->body = block(*child(node, Rule::Block));
  return made;
}

Stmt* Builder::try_statement(Node node) {
  auto* made = ast_.make<TryStmt>(span(node));
  Block** next = &made->body;
  for (const Node part : node) {
    if (part.is(Tok::Catch)) next = &made->handler;
    if (part.is(Tok::Finally)) next = &made->cleanup;
    if (part.is(Rule::Block)) *next = block(part);
  }
  if (const auto name = child(node, Tok::Name)) made->name = name_of(*name);
  return made;
}

Stmt* Builder::yield_statement(Node node) {
  auto* made = ast_.make<YieldStmt>(span(node));
  if (const auto value = child(node, Rule::Expressions)) made->value = value_of(expressions(*value));
  return made;
}

Stmt* Builder::del_statement(Node node) {
  auto* made = ast_.make<DelStmt>(span(node));
  std::vector<Expr*> targets;
  for (const Node part : rules_of(node, Rule::Operand)) {
    Expr* const target = operand_as_target(part);
    if (target->kind == ExprKind::Attribute) {
      syntax_error(target->span, "a field cannot be deleted",
                   "write `" + std::string(target->span.text()) + " = none`");
    }
    if (target->kind != ExprKind::Name && target->kind != ExprKind::Index) {
      syntax_error(target->span, "`del` takes a name or an item, `del x[i]`");
    }
    targets.push_back(target);
  }
  made->targets = keep(targets);
  return made;
}

Stmt* Builder::return_statement(Node node) {
  auto* made = ast_.make<ReturnStmt>(span(node));
  if (const auto value = child(node, Rule::Expressions)) made->value = value_of(expressions(*value));
  return made;
}

Stmt* Builder::throw_statement(Node node) {
  auto* made = ast_.make<ThrowStmt>(span(node));
  made->value = expression(*child(node, Rule::Expression));
  return made;
}

Stmt* Builder::assert_statement(Node node) {
  auto* made = ast_.make<AssertStmt>(span(node));
  const std::vector<Node> parts = rules_of(node, Rule::Expression);
  made->condition = expression(parts[0]);
  if (made->condition->kind == ExprKind::Tuple && !as<TupleExpr>(*made->condition).items.empty()) {
    syntax_error(made->condition->span, "a tuple is always true, so this assertion says nothing",
                 "leave out the parentheses: `assert condition, message`");
  }
  if (parts.size() > 1) made->message = expression(parts[1]);
  return made;
}

void Builder::read_module(Node node, ImportStmt& import) {
  import.module_span = span(node);
  const Token first = node.first_token();
  if (first.kind != Tok::String) {
    std::string dotted;
    for (const Node part : node) dotted += name_of(part.token());
    import.module = ast_.copy(dotted);
    return;
  }
  import.is_path = true;
  import.module = as<StringExpr>(*string(first)).value;
}

Stmt* Builder::import_statement(Node node) {
  auto* made = ast_.make<ImportStmt>(span(node));
  read_module(*child(node, Rule::Module), *made);
  if (const auto name = child(node, Tok::Name)) {
    made->as = name_of(*name);
  } else if (made->is_path) {
    syntax_error(span(node), "a module imported by its path needs a name",
                 "write `" + std::string(span(node).text()) + " as name`");
  } else {
    // `import a.b` binds the last part, so that `b.f` works.
    made->as = made->module.substr(made->module.rfind('.') + 1);
  }
  return made;
}

Stmt* Builder::from_statement(Node node) {
  auto* made = ast_.make<ImportStmt>(span(node));
  read_module(*child(node, Rule::Module), *made);
  std::vector<ImportedName> names;
  for (const Node part : rules_of(node, Rule::ImportedName)) {
    ImportedName name;
    const Token first = part.first_token();
    name.name = name_of(first);
    name.span = span(first);
    name.as = name_of(part.last_token());
    names.push_back(name);
  }
  made->names = keep(names);
  return made;
}

Stmt* Builder::nonlocal_statement(Node node) {
  auto* made = ast_.make<NonlocalStmt>(span(node));
  std::vector<std::string_view> names;
  for (const Node part : node) {
    if (part.is(Tok::Name)) names.push_back(name_of(part.token()));
  }
  made->names = keep(names);
  return made;
}

}  // namespace kiln::lang
