// Owns what a signature says of a size: an expression with at most one name that is not known yet.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lang/ast.h"
#include "tensor/dim.h"

namespace kiln::interp {

// factor * name + rest; without a name where the factor is 0.
struct Linear {
  Dim factor = 0;
  Dim rest = 0;
  std::string_view name;
};

// The expression of a dimension, such as `2*t` or `n + 1`. `known` gives the sizes of names; sizes may be
// symbols. Nothing where two names are unknown, or one is not linear.
using KnownSize = std::function<std::optional<Dim>(std::string_view name)>;
std::optional<Linear> linear(const lang::Expr& e, const KnownSize& known);

// Which axis of a tensor of this rank the dimension i of an annotation is; nothing for `...`. Where there is
// no `...`, the rank must be the number of dimensions, else at least one less.
std::optional<std::size_t> axis_of(const lang::Annotation& annotation, std::size_t i, std::size_t rank);
// Does the annotation speak of tensors of this rank?
bool fits_rank(const lang::Annotation& annotation, std::size_t rank);

}  // namespace kiln::interp
