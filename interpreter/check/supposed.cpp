#include "interpreter/check/supposed.h"

#include <array>

#include "interpreter/values/unknown.h"
#include "tensor/tensor.h"

namespace kiln::interp::check {
namespace {

// Primes far from the sizes that programs write. Four of them multiply to an int.
constexpr std::array<std::int64_t, 8> kNumbers{20011, 20107, 20201, 20297, 20393, 20507, 20599, 20693};

// The number of a size, by its name; nothing when there are too many.
std::optional<std::int64_t> number_of(SupposedCall& call, std::string_view name) {
  for (const auto& [number, known] : call.sizes) {
    if (known == name) return number;
  }
  if (call.sizes.size() == kNumbers.size()) return std::nullopt;
  const std::int64_t number = kNumbers[call.sizes.size()];
  call.sizes.emplace(number, name);
  return number;
}

std::optional<std::int64_t> size_of(SupposedCall& call, const lang::DimAnnotation& dim) {
  if (dim.kind != lang::DimAnnotation::Kind::Expr) return std::nullopt;
  if (dim.expr->kind == lang::ExprKind::Int) return lang::as<lang::IntExpr>(*dim.expr).value;
  if (dim.expr->kind != lang::ExprKind::Name) return std::nullopt;
  return number_of(call, lang::as<lang::NameExpr>(*dim.expr).name);
}

// A tensor where the signature says the number of its dimensions, else unknown.
Value argument_for(SupposedCall& call, const lang::Annotation* annotation) {
  if (annotation == nullptr || !annotation->has_dims) return unknown_value();
  const auto dtype = kiln::dtype_named(annotation->type_name);
  kiln::Dims sizes;
  for (const lang::DimAnnotation& dim : annotation->dims) {
    const auto size = size_of(call, dim);
    if (!size || !dtype) return unknown_value();
    sizes.push_back(*size);
  }
  return dtype ? Value(kiln::Tensor::without_elements(sizes, *dtype, {})) : unknown_value();
}

}  // namespace

std::optional<SupposedArguments> supposed_arguments(const Code& code) {
  SupposedArguments made{{code.function, {}}, {}};
  for (const CodeParameter& parameter : code.parameters) {
    if (parameter.kind != lang::Parameter::Kind::Normal) return std::nullopt;
    if (parameter.keyword_only || parameter.has_default) break;
    made.values.push_back(argument_for(made.call, parameter.annotation));
  }
  return made.call.sizes.empty() ? std::nullopt : std::optional(std::move(made));
}

}  // namespace kiln::interp::check
