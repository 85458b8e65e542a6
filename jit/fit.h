// Owns finding the expression that a size follows from values of it at several assignments of symbols.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/graph/size.h"

namespace kiln::jit {

struct Observation {
  SymbolValues symbols;
  std::int64_t value = 0;
};

// An expression that gives every observation: one of `candidates`, a polynomial in the symbols (of degree two
// in each, three symbols at most), or the floor of one over a divisor up to 16. Nothing when there is none.
std::optional<Size> fit(std::span<const Observation> observations, std::span<const Size> candidates);

}  // namespace kiln::jit
