// Varying numbers in the bodies of `autograd` functions: what forward is given, what its context keeps, and
// what backward, which runs apart, makes of them.
#include <optional>

#include "interpreter/capture/tracer.h"

namespace kiln::interp::capture {
namespace {

// Asks how two sizes compare, which is a guard where it depends on symbols.
void compare(lang::CompareOp op, Dim a, Dim b) {
  switch (op) {
    case lang::CompareOp::Lt:
    case lang::CompareOp::Ge:
      return static_cast<void>(a < b);
    case lang::CompareOp::Le:
    case lang::CompareOp::Gt:
      return static_cast<void>(a <= b);
    default:
      return static_cast<void>(a == b);
  }
}

}  // namespace

// A run apart has no guards of its own: what it makes of sizes is asked in the call around it.
void Tracer::fix_sizes_within(ExprId id) {
  const Expr expr = exprs_[id];
  const auto size = [this](ExprId side) -> std::optional<Dim> {
    const Expr& each = exprs_[side];
    if (each.kind == Expr::Kind::Size) return each.size;
    const bool is_whole = each.kind == Expr::Kind::Constant && each.constant.is(Tag::Int);
    return is_whole ? std::optional(Dim(each.constant.as_int())) : std::nullopt;
  };
  if (expr.kind == Expr::Kind::Size) return static_cast<void>(expr.size.fixed());
  if (expr.kind == Expr::Kind::Compare) {
    const auto a = size(expr.a), b = size(expr.b);
    if (a && b) return compare(expr.compare, *a, *b);
  }
  for (const ExprId each : {expr.a, expr.b}) {
    if (each >= 0) fix_sizes_within(each);
  }
  for (const ExprId each : expr.parts) fix_sizes_within(each);
}

}  // namespace kiln::interp::capture
