// Owns the equations of einsum: the labels of every operand's dimensions, and their sizes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace kiln::einsum {

// Letters are 0..51; broadcast dimensions of `...` are 52 and up, counted so that the last is highest.
inline constexpr int kLetters = 52;
inline constexpr int kEllipsisDims = 8;
inline constexpr int kLabels = kLetters + kEllipsisDims;

using Labels = SmallVector<int, 8>;
using LabelSet = std::uint64_t;  // bit i: label i
using Sizes = std::array<Dim, kLabels>;

constexpr LabelSet bit(int label) { return LabelSet{1} << label; }
inline LabelSet set_of(const Labels& labels) {
  LabelSet set = 0;
  for (const int label : labels) set |= bit(label);
  return set;
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
  Sizes sizes;  // of every label that occurs

  Dims sizes_of(const Labels& labels) const;
};

// Throws OpError (Value) that quotes the equation.
Equation parse_equation(std::string_view text, std::span<const Dims> shapes);

// One product: of two terms by their numbers. Operands come first, then the result of every step.
struct Step {
  int left;
  int right;
};
// In which order to multiply the terms, for the fewest multiplications: the best order for up to six terms,
// and always the cheapest next product for more. Depends on sizes alone.
std::vector<Step> contraction_order(std::span<const LabelSet> terms, LabelSet result, const Sizes& sizes);

}  // namespace kiln::einsum
