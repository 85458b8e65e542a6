// Owns the table of binary operators: spelling, precedence, what node they make.
#pragma once

#include <cstdint>
#include <string_view>

#include "lang/ast.h"

namespace kiln::lang {

struct OperatorInfo {
  enum class Kind : std::uint8_t { Binary, Compare, Logical };
  std::string_view text;  // as written, with one space in `not in` and `is not`
  int precedence;         // higher binds tighter
  Kind kind;
  std::uint8_t op;  // a BinaryOp, CompareOp or LogicalOp, by `kind`
  bool right_associative = false;
};

// Between `and` and the comparisons.
inline constexpr int kNotPrecedence = 3;
inline constexpr int kComparePrecedence = 4;
// Between `*` and `**`.
inline constexpr int kUnaryPrecedence = 11;

// The operator of a token's text, which must be one.
const OperatorInfo& find_operator(std::string_view text);
// The operator inside an augmented assignment: `+` for `+=`.
BinaryOp augmented_operator(std::string_view text);

}  // namespace kiln::lang
