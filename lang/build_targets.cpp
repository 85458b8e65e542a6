#include <string>

#include "lang/builder.h"

namespace kiln::lang {
namespace {

// How an error calls an expression that cannot be assigned to.
std::string target_text(const Expr& e) {
  switch (e.kind) {
    case ExprKind::None:
    case ExprKind::Bool:
    case ExprKind::Int:
    case ExprKind::Float:
    case ExprKind::Imaginary:
    case ExprKind::String:
    case ExprKind::FString:
    case ExprKind::Ellipsis:
      return "the literal `" + std::string(e.span.text().substr(0, 40)) + "`";
    case ExprKind::Call:
      return "the result of a call";
    case ExprKind::Function:
      return "a function";
    case ExprKind::Dict:
      return "a dict";
    case ExprKind::Set:
      return "a set";
    case ExprKind::Comprehension:
      return "a comprehension";
    case ExprKind::Compare:
      return "a comparison";
    default:
      return "the result of an expression";
  }
}

}  // namespace

Expr* Builder::targets(Node node) {
  Expr* made = expressions(node);
  check_target(*made);
  return made;
}

void Builder::check_targets(const Expr& sequence, std::span<Expr* const> items) {
  const Expr* starred = nullptr;
  for (const Expr* item : items) {
    if (item->kind != ExprKind::Starred) {
      check_target(*item);
      continue;
    }
    if (starred) {
      throw UserError({"SyntaxError",
                       "only one target can take the rest",
                       {{item->span, ""}, {starred->span, "this one takes it already"}},
                       "",
                       {}});
    }
    starred = item;
    check_target(*as<StarredExpr>(*item).operand);
  }
  if (items.empty()) syntax_error(sequence.span, "there is no target to assign to");
}

void Builder::check_target(const Expr& target) {
  switch (target.kind) {
    case ExprKind::Name:
    case ExprKind::Attribute:
    case ExprKind::Index:
      return;
    case ExprKind::List:
      return check_targets(target, as<ListExpr>(target).items);
    case ExprKind::Tuple:
      return check_targets(target, as<TupleExpr>(target).items);
    case ExprKind::Starred:
      syntax_error(target.span, "a target that takes the rest needs others beside it",
                   "write `(" + std::string(target.span.text()) + ",) = …` to take all");
    case ExprKind::Call:
      syntax_error(target.span, "cannot assign to " + target_text(target),
                   "a function is written `fn f(x) = …`; to compare, write `==`");
    default:
      syntax_error(target.span, "cannot assign to " + target_text(target));
  }
}

}  // namespace kiln::lang
