#include "tensor/operators.h"

#include <algorithm>
#include <iterator>

namespace kiln {
namespace {

struct Operator {
  std::string_view spelling;
  int operands;
  std::string_view op;
};
constexpr Operator kOperators[] = {
    {"+", 2, "add"},
    {"-", 2, "sub"},
    {"*", 2, "mul"},
    {"/", 2, "div"},
    {"//", 2, "floor_div"},
    {"%", 2, "remainder"},
    {"**", 2, "pow"},
    {"@", 2, "matmul"},
    {"&", 2, "bitwise_and"},
    {"|", 2, "bitwise_or"},
    {"^", 2, "bitwise_xor"},
    {"<<", 2, "bitwise_left_shift"},
    {">>", 2, "bitwise_right_shift"},
    {"==", 2, "eq"},
    {"!=", 2, "ne"},
    {"<", 2, "lt"},
    {"<=", 2, "le"},
    {">", 2, "gt"},
    {">=", 2, "ge"},
    {"-", 1, "neg"},
    {"~", 1, "bitwise_not"},
};

}  // namespace

const Op* operator_on_tensors(std::string_view spelling, int operands) {
  const auto* const found = std::find_if(
      std::begin(kOperators), std::end(kOperators),
      [&](const Operator& each) { return each.spelling == spelling && each.operands == operands; });
  return found == std::end(kOperators) ? nullptr : &OpTable::get().at(found->op);
}

std::string_view operator_of(const Op& op, int operands) {
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const Operator& each) { return each.op == op.name() && each.operands == operands; });
  return found == std::end(kOperators) ? std::string_view{} : found->spelling;
}

}  // namespace kiln
