#include <algorithm>
#include <string>

#include "lang/builder.h"

namespace kiln::lang {

// The `##` lines above a definition, without their marks.
std::string_view Builder::documentation(Node node) {
  const std::uint32_t at = node.first_token().begin;
  const auto& all = *documentation_;
  const auto found =
      std::lower_bound(all.begin(), all.end(), at,
                       [](const DocumentationLines& d, std::uint32_t place) { return d.at < place; });
  if (found == all.end() || found->at != at) return {};
  std::string out;
  std::string_view rest = found->lines.text();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_prefix(line.find("##") + 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (!out.empty()) out += '\n';
    out += line;
  }
  return ast_.copy(out);
}

Stmt* Builder::decorated(Node node) {
  std::vector<Expr*> decorators;
  for (const Node part : rules_of(node, Rule::Decorator)) {
    decorators.push_back(operand_as_target(*child(part, Rule::Operand)));
  }
  if (const auto made = child(node, Rule::Definition)) {
    return function_statement(*made, node, keep(decorators));
  }
  if (const auto made = child(node, Rule::Struct)) return struct_statement(*made, node, keep(decorators));
  syntax_error(decorators.front()->span, "an `autograd` takes no decorators");
}

FunctionStmt* Builder::function_statement(Node node, Node whole, std::span<Expr*> decorators) {
  auto* made = ast_.make<FunctionStmt>(span(whole));
  made->decorators = decorators;
  made->function = function(node);
  const auto name = child(node, Tok::Name);
  if (!name) syntax_error(span(node.first_token()), "this function needs a name", "write `fn name(…) { … }`");
  made->function->name = name_of(*name);
  made->function->documentation = documentation(whole);
  if (made->function->documentation.empty()) made->function->documentation = documentation(node);
  return made;
}

FunctionExpr* Builder::function(Node node) {
  auto* made = ast_.make<FunctionExpr>(span(node));
  const Level level(*this, 1, span(node.first_token()));
  std::vector<Parameter> parameters;
  std::optional<Token> star;
  for (const Node part : node) {
    if (part.is(Rule::Parameters)) {
      check_commas(part);
      for (const Node each : rules_of(part, Rule::Parameter)) parameters.push_back(parameter(each));
    }
    if (part.is(Rule::Annotation)) made->returns = annotation(part);
    if (part.is(Rule::Block)) made->body = block(part);
    if (part.is(Tok::Star)) star = part.token();
    if (part.is(Rule::Expression)) {
      Expr* value = expression(part);
      made->expression = star ? starred(*star, value) : value;
    }
    if (part.is(Rule::Body)) made->expression = value_of(expressions(part));
  }
  check_parameters(parameters);
  made->parameters = keep(parameters);
  return made;
}

Parameter Builder::parameter(Node node) {
  Parameter made;
  const Token name = *child(node, Tok::Name);
  made.name = name_of(name);
  made.span = span(name);
  if (child(node, Tok::Star)) made.kind = Parameter::Kind::Star;
  if (child(node, Tok::DoubleStar)) made.kind = Parameter::Kind::DoubleStar;
  if (const auto type = child(node, Rule::Annotation)) made.annotation = annotation(*type);
  if (const auto value = child(node, Rule::Expression)) made.default_value = expression(*value);
  return made;
}

// `x => e` and `(x, y = 1) => e`: what stands before the arrow was read as an operand.
FunctionExpr* Builder::lambda(Node node) {
  auto part = node.begin();
  const Node left = *part;
  ++part;
  const Token arrow = (*part).token();
  const bool sole = left.is(Rule::Operand) && arrow.kind == Tok::FatArrow;
  auto inside = left.begin();
  const Node first = *inside;
  if (!sole || !(++inside == left.end()) || !(first.is(Tok::Name) || first.is(Rule::Group))) {
    syntax_error(span(left), "expected parameters before `=>`: a name, or names in parentheses",
                 "put the function in parentheses if it is part of a larger expression");
  }
  ++part;
  auto* made = ast_.make<FunctionExpr>(span(node));
  const Level level(*this, 1, span(arrow));
  std::vector<Parameter> parameters;
  if (first.is(Tok::Name)) {
    Parameter parameter;
    parameter.name = name_of(first.token());
    parameter.span = span(first);
    parameters.push_back(parameter);
  } else {
    check_commas(first);
    for (const Node item : rules_of(first, Rule::Item)) parameters.push_back(parameter_of_item(item));
  }
  check_parameters(parameters);
  made->parameters = keep(parameters);
  made->expression = expression(*part);
  return made;
}

Parameter Builder::parameter_of_item(Node item) {
  Parameter made;
  std::optional<Node> name_part;
  for (const Node part : item) {
    if (part.is(Tok::Star)) made.kind = Parameter::Kind::Star;
    if (part.is(Tok::DoubleStar)) made.kind = Parameter::Kind::DoubleStar;
    if (part.is(Rule::Annotation)) made.annotation = annotation(part);
    if (part.is(Rule::Clause)) syntax_error(span(part), "a parameter cannot be a comprehension");
    if (!part.is(Rule::Expression)) continue;
    if (name_part) {
      made.default_value = expression(part);
    } else {
      name_part = part;
    }
  }
  const auto name = bare_name(*name_part);
  if (!name) syntax_error(span(*name_part), "expected the name of a parameter before `=>`");
  made.name = name_of(*name);
  made.span = span(*name);
  return made;
}

void Builder::check_parameters(const std::vector<Parameter>& parameters) {
  const Parameter* optional = nullptr;
  const Parameter* rest = nullptr;
  const Parameter* named = nullptr;
  for (const Parameter& p : parameters) {
    const std::string name(p.name);
    if (named) syntax_error(p.span, "`**" + std::string(named->name) + "` must be the last parameter");
    if (p.kind != Parameter::Kind::Normal && p.default_value) {
      syntax_error(p.span, "`" + name + "` takes what is left over and cannot have a default");
    }
    if (p.kind == Parameter::Kind::Star && rest) {
      syntax_error(p.span,
                   "only one parameter can take the rest: `*" + std::string(rest->name) + "` does already");
    }
    if (p.kind == Parameter::Kind::Normal && !p.default_value && optional && !rest) {
      syntax_error(p.span, "`" + name + "` needs a default, because `" + std::string(optional->name) +
                               "` before it has one");
    }
    if (p.kind == Parameter::Kind::Star) rest = &p;
    if (p.kind == Parameter::Kind::DoubleStar) named = &p;
    if (p.default_value) optional = &p;
  }
}

Annotation* Builder::annotation(Node node) {
  auto* made = ast_.make<Annotation>();
  made->span = span(node);
  check_commas(node);
  const Level level(*this, 1, made->span);
  Expr* type = nullptr;
  std::vector<DimAnnotation> dims;
  for (const Node part : node) {
    if (part.is(Tok::None)) type = ast_.make<NoneExpr>(span(part));
    if (part.is(Tok::Name) && !type) {
      auto* name = ast_.make<NameExpr>(span(part));
      name->name = name_of(part.token());
      type = name;
    } else if (part.is(Tok::Name)) {
      auto* attribute = ast_.make<AttributeExpr>(join(type->span, span(part)));
      attribute->object = type;
      attribute->name = name_of(part.token());
      attribute->name_span = span(part);
      type = attribute;
    }
    if (part.is(Tok::LeftBracket)) made->has_dims = true;
    if (!part.is(Rule::Expression)) continue;
    DimAnnotation dim;
    dim.span = span(part);
    dim.expr = expression(part);
    const bool any = dim.expr->kind == ExprKind::Name && as<NameExpr>(*dim.expr).name == "_";
    if (any) dim.kind = DimAnnotation::Kind::Any;
    if (dim.expr->kind == ExprKind::Ellipsis) dim.kind = DimAnnotation::Kind::Rest;
    if (dim.kind != DimAnnotation::Kind::Expr) dim.expr = nullptr;
    dims.push_back(dim);
  }
  made->type = type;
  made->type_name = normalized(type->span.text());
  made->dims = keep(dims);
  static constexpr std::string_view kShapeless[] = {"list", "tuple", "dict", "str", "range", "none"};
  if (made->has_dims &&
      std::find(std::begin(kShapeless), std::end(kShapeless), made->type_name) != std::end(kShapeless)) {
    syntax_error(made->span, "`" + std::string(made->type_name) + "` has no dimensions: only tensors do",
                 "write `" + std::string(made->type_name) + "`");
  }
  const auto rest = [](const DimAnnotation& d) { return d.kind == DimAnnotation::Kind::Rest; };
  if (std::count_if(dims.begin(), dims.end(), rest) > 1) {
    syntax_error(made->span, "a shape can have one `...` only");
  }
  return made;
}

StructField Builder::field(Node node) {
  StructField made;
  const Token name = node.first_token();
  made.name = name_of(name);
  made.span = span(name);
  if (const auto type = child(node, Rule::Annotation)) made.annotation = annotation(*type);
  if (const auto value = child(node, Rule::Expression)) made.default_value = expression(*value);
  return made;
}

// Without `fields` there may be methods only.
void Builder::members(Node node, std::vector<StructField>* fields, std::vector<FunctionStmt*>& methods) {
  const Level level(*this, 1, span(node.first_token()));
  for (const Node member : rules_of(node, Rule::Member)) {
    for (const Node part : member) {
      if (part.is(Rule::Field)) {
        if (!fields)
          syntax_error(span(part), "an `autograd` has methods only",
                       "keep values in `ctx`: `ctx.alpha = alpha`");
        fields->push_back(field(part));
        continue;
      }
      Stmt* made = part.is(Rule::Definition) ? function_statement(part, part, {}) : decorated(part);
      if (made->kind != StmtKind::Function)
        syntax_error(made->span, "expected a method: a struct cannot hold another");
      methods.push_back(&as<FunctionStmt>(*made));
    }
  }
}

Stmt* Builder::struct_statement(Node node, Node whole, std::span<Expr*> decorators) {
  auto* made = ast_.make<StructStmt>(span(whole));
  made->name = name_of(*child(node, Tok::Name));
  made->decorators = decorators;
  made->documentation = documentation(whole);
  std::vector<StructField> fields;
  std::vector<FunctionStmt*> methods;
  members(node, &fields, methods);
  made->fields = keep(fields);
  made->methods = keep(methods);
  return made;
}

Stmt* Builder::autograd_statement(Node node, Node whole) {
  auto* made = ast_.make<AutogradStmt>(span(whole));
  made->name = name_of(*child(node, Tok::Name));
  made->documentation = documentation(whole);
  std::vector<FunctionStmt*> methods;
  members(node, nullptr, methods);
  made->methods = keep(methods);
  return made;
}

}  // namespace kiln::lang
