// Owns what a symbolic size is made of: sums of products of atoms, each of which exists once.
#pragma once

#include <vector>

#include "tensor/dim.h"

namespace kiln {

// A symbol, or a floor division, remainder, minimum or maximum that no rule could take apart.
struct SizeAtom {
  enum class Kind : std::uint8_t { Symbol, FloorDiv, Mod, Min, Max };
  Kind kind = Kind::Symbol;
  std::string text;  // of a symbol its name
  Dim a, b;          // operands of the others
  int depth = 0;     // of the atoms in the operands, and one
};

struct SizeTerm {
  std::int64_t coefficient = 0;
  std::vector<const SizeAtom*> factors;  // ordered by text, a power is repeated
  std::string key;                       // the text of the factors
};

// The canonical form: terms ordered by key, none with a coefficient of 0. Without terms it is an int that is
// too low to be kept in a Dim.
struct SizeExpression {
  std::int64_t constant = 0;
  std::vector<SizeTerm> terms;
  std::string text;
};

// The expression of a sum of terms in any order, with equal keys at most once; an int where none is left.
Dim make_size(std::int64_t constant, std::vector<SizeTerm> terms);
// The one atom of these operands, as a size.
Dim make_size(SizeAtom::Kind kind, Dim a, Dim b);

// The parts that both ints and expressions have.
std::int64_t constant_of(Dim size);
std::span<const SizeTerm> terms_of(Dim size);

// The integer operations that sizes are made of, checked.
std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_multiply(std::int64_t a, std::int64_t b);
std::int64_t floor_div_ints(std::int64_t a, std::int64_t b);
std::int64_t floor_mod_ints(std::int64_t a, std::int64_t b);

}  // namespace kiln
