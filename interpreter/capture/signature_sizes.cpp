#include "interpreter/capture/signature_sizes.h"

#include <vector>

#include "tensor/size_scope.h"

namespace kiln::interp::capture {

void SignatureSizes::add(const lang::Annotation& annotation, const Dims& sizes) {
  if (!fits_rank(annotation, sizes.size())) return;
  for (std::size_t i = 0; i < annotation.dims.size(); ++i) {
    const auto axis = axis_of(annotation, i, sizes.size());
    if (axis && annotation.dims[i].kind == lang::DimAnnotation::Kind::Expr)
      waiting_.push_back({annotation.dims[i].expr, sizes[*axis]});
  }
}

bool SignatureSizes::settle() {
  for (std::size_t before = waiting_.size() + 1; !waiting_.empty() && waiting_.size() < before;) {
    before = waiting_.size();
    std::erase_if(waiting_, [this](const Waiting& each) { return relate(*each.expr, each.size); });
  }
  return waiting_.empty();
}

std::optional<Dim> SignatureSizes::known(std::string_view name) const {
  const auto found = names_.find(name);
  return found != names_.end() ? std::optional(found->second) : ask_.known(name);
}

bool SignatureSizes::relate(const lang::Expr& expr, Dim size) {
  const auto wanted = linear(expr, [this](std::string_view name) { return known(name); });
  if (!wanted) return false;
  if (same(wanted->factor, 0)) {
    ask_.require_zero(size - wanted->rest);
  } else {
    names_.emplace(wanted->name, solved(*wanted, size));
  }
  return true;
}

// The name's size: (size - rest) / factor, which is whole and not negative.
Dim SignatureSizes::solved(const Linear& wanted, Dim size) {
  const bool stays_positive = wanted.factor.is_known() && wanted.factor.known() > 0 &&
                              wanted.rest.is_known() && wanted.rest.known() <= SizeScope::kLowestSize;
  if (!stays_positive) {
    for (const Dim each : {size, wanted.factor, wanted.rest}) ask_.fix(each);
  }
  const Dim rest = size - wanted.rest;
  ask_.require_zero(floor_mod(rest, wanted.factor));
  return floor_div(rest, wanted.factor);
}

}  // namespace kiln::interp::capture
