#include <string>

#include "lang/builder.h"
#include "lang/literals.h"

namespace kiln::lang {

// A flat run of operands and operators, made into a tree by precedence climbing.
class Builder::Chain {
 public:
  Chain(Builder& builder, Node node);

  Expr* build() { return climb(1); }

 private:
  // An operand with the operators before it, all at one place of the run.
  struct Part {
    std::vector<Token> prefixes;
    std::size_t next_prefix = 0;
    Node operand;
    const OperatorInfo* after = nullptr;  // the operator behind it
    Span after_span;
  };

  Expr* climb(int least);
  Expr* prefixed(int least);
  Expr* minus_literal(const Part& part, Token minus);
  Expr* binary(const OperatorInfo& info, Span op_span, Expr* left, Expr* right);
  Expr* comparison(Expr* first);
  const Part& here() const { return parts_[at_]; }

  Builder& builder_;
  std::vector<Part> parts_;
  std::size_t at_ = 0;  // the operand whose operator comes next
  int levels_ = 0;

 public:
  int levels() const { return levels_; }
};

Builder::Chain::Chain(Builder& builder, Node node) : builder_(builder) {
  for (const Node part : node) {
    if (part.is(Rule::Operand)) {
      Part made{{}, 0, part, nullptr, {}};
      for (const Node prefix : part) {
        const bool is_prefix =
            prefix.is(Tok::Minus) || prefix.is(Tok::Plus) || prefix.is(Tok::Tilde) || prefix.is(Tok::Not);
        if (!is_prefix) break;
        made.prefixes.push_back(prefix.token());
      }
      levels_ += static_cast<int>(made.prefixes.size()) + (parts_.empty() ? 0 : 1);
      parts_.push_back(std::move(made));
    } else if (!part.is_rule() && is_binary(part.token().kind)) {
      parts_.back().after = &find_operator(builder.text(part.token()));
      parts_.back().after_span = builder.span(part.token());
    } else {
      break;  // `if … else …`
    }
  }
}

Expr* Builder::Chain::climb(int least) {
  Expr* left = prefixed(least);
  while (here().after && here().after->precedence >= least) {
    if (here().after->precedence == kComparePrecedence) {
      left = comparison(left);
      continue;
    }
    const OperatorInfo& info = *here().after;
    const Span op_span = here().after_span;
    ++at_;
    Expr* right = climb(info.right_associative ? kUnaryPrecedence : info.precedence + 1);
    left = binary(info, op_span, left, right);
  }
  return left;
}

// What begins at the current operand: its remaining prefix operators, then itself.
Expr* Builder::Chain::prefixed(int least) {
  Part& part = parts_[at_];
  if (part.next_prefix == part.prefixes.size()) return builder_.operand(part.operand);
  const Token token = part.prefixes[part.next_prefix++];
  const Span op_span = builder_.span(token);
  if (token.kind == Tok::Not && least > kNotPrecedence) {
    syntax_error(op_span, "`not` binds looser than the operator before it", "put the `not …` in parentheses");
  }
  const bool last = part.next_prefix == part.prefixes.size();
  if (token.kind == Tok::Minus && last) {
    if (Expr* literal = minus_literal(part, token)) return literal;
  }
  Expr* operand = climb(token.kind == Tok::Not ? kNotPrecedence : kUnaryPrecedence);
  auto* made = builder_.ast_.make<UnaryExpr>(join(op_span, operand->span));
  made->op = token.kind == Tok::Not     ? UnaryOp::Not
             : token.kind == Tok::Minus ? UnaryOp::Neg
             : token.kind == Tok::Plus  ? UnaryOp::Pos
                                        : UnaryOp::Invert;
  made->operand = operand;
  return made;
}

// -9223372036854775808: its digits alone would not fit. Null for anything else.
Expr* Builder::Chain::minus_literal(const Part& part, Token minus) {
  const Token number = part.operand.last_token();
  const bool sole = number.kind == Tok::Number && part.operand.first_token().begin <= minus.begin;
  if (!sole || (part.after && part.after->op == static_cast<std::uint8_t>(BinaryOp::Pow) &&
                part.after->kind == OperatorInfo::Kind::Binary)) {
    return nullptr;
  }
  Node last = part.operand.first();
  for (const Node each : part.operand) last = each;
  if (!last.is(Tok::Number)) return nullptr;
  const auto value = number_value(builder_.span(number), true);
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (!integer || *integer >= 0) return nullptr;
  auto* made = builder_.ast_.make<IntExpr>(join(builder_.span(minus), builder_.span(number)));
  made->value = *integer;
  return made;
}

Expr* Builder::Chain::binary(const OperatorInfo& info, Span op_span, Expr* left, Expr* right) {
  const Span span = join(left->span, right->span);
  if (info.kind == OperatorInfo::Kind::Logical) {
    auto* made = builder_.ast_.make<LogicalExpr>(span);
    made->op = static_cast<LogicalOp>(info.op);
    made->left = left;
    made->right = right;
    return made;
  }
  auto* made = builder_.ast_.make<BinaryExpr>(span);
  made->op = static_cast<BinaryOp>(info.op);
  made->op_span = op_span;
  made->left = left;
  made->right = right;
  return made;
}

Expr* Builder::Chain::comparison(Expr* first) {
  std::vector<CompareLink> rest;
  while (here().after && here().after->precedence == kComparePrecedence) {
    CompareLink link;
    link.op = static_cast<CompareOp>(here().after->op);
    link.op_span = here().after_span;
    ++at_;
    link.operand = climb(kComparePrecedence + 1);
    rest.push_back(link);
  }
  auto* made = builder_.ast_.make<CompareExpr>(join(first->span, rest.back().operand->span));
  made->first = first;
  made->rest = builder_.keep(rest);
  return made;
}

Expr* Builder::chain(Node node) {
  // The commonest chain is one operand.
  const Node first = node.first();
  auto rest = node.begin();
  if (++rest == node.end() && first.first().is(Tok::Name)) {
    const Level level(*this, 1, span(first.first_token()));
    return operand(first);
  }
  Chain made(*this, node);
  const Level level(*this, made.levels() + 1, span(node.first_token()));
  return made.build();
}

Expr* Builder::expression(Node node) {
  if (node.first().is(Rule::Function)) {
    const Node made = node.first();
    if (const auto name = child(made, Tok::Name)) {
      syntax_error(span(*name), "a function inside an expression has no name", "write `fn(…)`");
    }
    FunctionExpr* built = function(made);
    if (built->expression) value_of(built->expression);
    return built;
  }
  std::optional<Node> condition;
  std::optional<Node> otherwise;
  for (const Node part : node) {
    if (part.is(Tok::FatArrow)) return lambda(node);
    if (part.is(Rule::Chain)) condition = part;
    if (part.is(Rule::Expression)) otherwise = part;
  }
  Expr* value = chain(node);
  if (!condition) return value;
  const Level level(*this, 1, value->span);
  auto* made = ast_.make<ConditionalExpr>(span(node));
  made->then = value;
  made->condition = chain(*condition);
  made->otherwise = expression(*otherwise);
  return made;
}

}  // namespace kiln::lang
