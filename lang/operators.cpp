#include "lang/operators.h"

#include <algorithm>
#include <iterator>

namespace kiln::lang {
namespace {

constexpr OperatorInfo binary(std::string_view text, int precedence, BinaryOp op, bool right = false) {
  return {text, precedence, OperatorInfo::Kind::Binary, static_cast<std::uint8_t>(op), right};
}
constexpr OperatorInfo compare(std::string_view text, CompareOp op) {
  return {text, kComparePrecedence, OperatorInfo::Kind::Compare, static_cast<std::uint8_t>(op)};
}
constexpr OperatorInfo logical(std::string_view text, int precedence, LogicalOp op) {
  return {text, precedence, OperatorInfo::Kind::Logical, static_cast<std::uint8_t>(op)};
}

// Few enough that a linear search is quick.
constexpr OperatorInfo kOperators[] = {
    logical("and", 2, LogicalOp::And),     logical("or", 1, LogicalOp::Or),
    compare("==", CompareOp::Eq),          compare("!=", CompareOp::Ne),
    compare("<", CompareOp::Lt),           compare("<=", CompareOp::Le),
    compare(">", CompareOp::Gt),           compare(">=", CompareOp::Ge),
    compare("in", CompareOp::In),          compare("not in", CompareOp::NotIn),
    compare("is", CompareOp::Is),          compare("is not", CompareOp::IsNot),
    binary("+", 9, BinaryOp::Add),         binary("-", 9, BinaryOp::Sub),
    binary("*", 10, BinaryOp::Mul),        binary("/", 10, BinaryOp::Div),
    binary("//", 10, BinaryOp::FloorDiv),  binary("%", 10, BinaryOp::Mod),
    binary("**", 12, BinaryOp::Pow, true), binary("@", 10, BinaryOp::MatMul),
    binary("&", 7, BinaryOp::BitAnd),      binary("|", 5, BinaryOp::BitOr),
    binary("^", 6, BinaryOp::BitXor),      binary("<<", 8, BinaryOp::ShiftLeft),
    binary(">>", 8, BinaryOp::ShiftRight),
};

const OperatorInfo& row(OperatorInfo::Kind kind, std::uint8_t op) {
  return *std::find_if(std::begin(kOperators), std::end(kOperators),
                       [&](const OperatorInfo& info) { return info.kind == kind && info.op == op; });
}

}  // namespace

const OperatorInfo& find_operator(std::string_view text) {
  // The two words of `not in` and `is not` may be any space apart.
  if (text.size() > 3 && text.starts_with("not")) text = "not in";
  if (text.size() > 2 && text.starts_with("is")) text = "is not";
  return *std::find_if(std::begin(kOperators), std::end(kOperators),
                       [&](const OperatorInfo& info) { return info.text == text; });
}

BinaryOp augmented_operator(std::string_view text) {
  return static_cast<BinaryOp>(find_operator(text.substr(0, text.size() - 1)).op);
}

std::string_view spelling(UnaryOp op) {
  static constexpr std::string_view kTexts[] = {"-", "+", "~", "not"};
  return kTexts[static_cast<std::size_t>(op)];
}
std::string_view spelling(BinaryOp op) {
  return row(OperatorInfo::Kind::Binary, static_cast<std::uint8_t>(op)).text;
}
std::string_view spelling(CompareOp op) {
  return row(OperatorInfo::Kind::Compare, static_cast<std::uint8_t>(op)).text;
}
std::string_view spelling(LogicalOp op) {
  return row(OperatorInfo::Kind::Logical, static_cast<std::uint8_t>(op)).text;
}

}  // namespace kiln::lang
