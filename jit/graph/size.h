// Owns sizes that may be symbolic: integer expressions in one canonical form, so that equal ones compare
// equal. `2*s0 + 1`, `b*t`, `(s0 + 1)//2`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"
#include "tensor/symbol_values.h"

namespace kiln::jit {
using kiln::SymbolValues;

// A sum of products of atoms with integer coefficients. An atom is a symbol, or a floor division, remainder,
// minimum or maximum that no rule could take apart. Arithmetic throws OpError (Overflow), also where an
// expression would nest deeper or have more parts than any program's sizes.
class Size {
  struct Atom;
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<std::shared_ptr<const Atom>> factors;  // ordered by text, a power is repeated
  };
  using Terms = std::map<std::string, Term>;  // by the text of their factors

 public:
  enum class Kind : std::uint8_t { Symbol, FloorDiv, Mod, Min, Max };

  Size(std::int64_t constant = 0) : constant_(constant) {}
  static Size symbol(std::string name);
  // Reads what `text` prints; nothing when it is no such expression. Throws OpError for one that nests too
  // deep or whose numbers do not fit.
  static std::optional<Size> parse(std::string_view text);

  bool is_constant() const { return !terms_; }
  std::int64_t constant() const;                            // throws InternalError for a symbolic size
  std::int64_t evaluate(const SymbolValues& values) const;  // throws InternalError for an unknown symbol
  void collect_symbols(std::set<std::string>& into) const;
  std::string text() const;

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend Size floor_div(const Size& a, const Size& b);  // throws OpError (Value) for a divisor of 0
  friend Size mod(const Size& a, const Size& b);        // with the sign of b
  friend Size min(const Size& a, const Size& b);
  friend Size max(const Size& a, const Size& b);
  friend bool operator==(const Size& a, const Size& b);

 private:
  static Size made(std::int64_t constant, Terms terms);
  static Size of_atom(Kind kind, const Size& a, const Size& b);
  static Size extremum(Kind kind, const Size& a, const Size& b);
  bool splits_by(std::int64_t divisor, Size& multiple, Size& rest) const;
  bool is_single() const;
  int depth() const;  // of the deepest atom
  std::string operand_text() const;

  std::int64_t constant_ = 0;
  std::shared_ptr<const Terms> terms_;  // null: a constant
};

using Sizes = std::vector<Size>;
std::string to_string(const Sizes& sizes);  // "[s0, 4]"
Dims evaluate(const Sizes& sizes, const SymbolValues& values);
Sizes to_sizes(std::span<const Dim> sizes);

// The integer operations that sizes are made of, as the language's `//` and `%`.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

}  // namespace kiln::jit
