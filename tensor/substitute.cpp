#include "tensor/substitute.h"

#include "tensor/error.h"
#include "tensor/size_expression.h"

namespace kiln {
namespace {

Dim size_of(const SizeAtom& atom, const SymbolSizes& sizes) {
  if (atom.kind == SizeAtom::Kind::Symbol) {
    const auto found = sizes.find(atom.text);
    if (found == sizes.end()) throw InternalError("nothing stands for the size " + atom.text);
    return found->second;
  }
  const Dim a = substitute(atom.a, sizes);
  const Dim b = substitute(atom.b, sizes);
  switch (atom.kind) {
    case SizeAtom::Kind::FloorDiv:
      return floor_div(a, b);
    case SizeAtom::Kind::Mod:
      return floor_mod(a, b);
    case SizeAtom::Kind::Min:
      return min(a, b);
    default:
      return max(a, b);
  }
}

}  // namespace

Dim substitute(Dim size, const SymbolSizes& sizes) {
  if (size.is_known()) return size;
  Dim total = constant_of(size);
  for (const SizeTerm& term : terms_of(size)) {
    Dim product = term.coefficient;
    for (const SizeAtom* atom : term.factors) product *= size_of(*atom, sizes);
    total += product;
  }
  return total;
}

}  // namespace kiln
