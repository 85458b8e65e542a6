#include "interpreter/vm/linear.h"

#include <algorithm>

namespace kiln::interp {
namespace {

bool is_zero(Dim size) { return same(size, 0); }

std::optional<Linear> linear_binary(const lang::BinaryExpr& e, const KnownSize& known) {
  const auto a = linear(*e.left, known);
  const auto b = linear(*e.right, known);
  if (!a || !b || (!is_zero(a->factor) && !is_zero(b->factor) && a->name != b->name)) return std::nullopt;
  const std::string_view name = is_zero(a->factor) ? b->name : a->name;
  const bool divides = is_zero(a->factor) && is_zero(b->factor) && b->rest.is_known() && b->rest.known() > 0;
  switch (e.op) {
    case lang::BinaryOp::Add:
      return Linear{a->factor + b->factor, a->rest + b->rest, name};
    case lang::BinaryOp::Sub:
      return Linear{a->factor - b->factor, a->rest - b->rest, name};
    case lang::BinaryOp::Mul:
      if (is_zero(a->factor)) return Linear{a->rest * b->factor, a->rest * b->rest, name};
      if (is_zero(b->factor)) return Linear{b->rest * a->factor, b->rest * a->rest, name};
      return std::nullopt;
    case lang::BinaryOp::FloorDiv:
      return divides ? std::optional(Linear{0, floor_div(a->rest, b->rest), {}}) : std::nullopt;
    case lang::BinaryOp::Mod:
      return divides ? std::optional(Linear{0, floor_mod(a->rest, b->rest), {}}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Which dimension of the annotation is `...`; where none is, the number of dimensions.
std::size_t place_of_rest(const lang::Annotation& annotation) {
  const auto is_rest = [](const lang::DimAnnotation& each) {
    return each.kind == lang::DimAnnotation::Kind::Rest;
  };
  const auto dims = annotation.dims;
  return static_cast<std::size_t>(std::find_if(dims.begin(), dims.end(), is_rest) - dims.begin());
}

}  // namespace

std::optional<std::size_t> axis_of(const lang::Annotation& annotation, std::size_t i, std::size_t rank) {
  const std::size_t rest = place_of_rest(annotation);
  if (i == rest) return std::nullopt;
  return i < rest ? i : rank - (annotation.dims.size() - i);
}

bool fits_rank(const lang::Annotation& annotation, std::size_t rank) {
  const std::size_t count = annotation.dims.size();
  return place_of_rest(annotation) < count ? rank + 1 >= count : rank == count;
}

std::optional<Linear> linear(const lang::Expr& e, const KnownSize& known) {
  switch (e.kind) {
    case lang::ExprKind::Int:
      return Linear{0, lang::as<lang::IntExpr>(e).value, {}};
    case lang::ExprKind::Name: {
      const std::string_view name = lang::as<lang::NameExpr>(e).name;
      if (const auto value = known(name)) return Linear{0, *value, {}};
      return Linear{1, 0, name};
    }
    case lang::ExprKind::Binary:
      return linear_binary(lang::as<lang::BinaryExpr>(e), known);
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::interp
