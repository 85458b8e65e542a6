// Comparisons, logic on bools, bits of whole numbers, choices.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

template <Tensor (*F)(const Tensor&, const Tensor&)>
Values binary(Call& call) {
  return {F(call.x(0), call.x(1))};
}
template <Tensor (*F)(const Tensor&)>
Values unary(Call& call) {
  return {F(call.x(0))};
}

Values where(Call& call) { return {ops::where(call.x(0), call.x(1), call.x(2))}; }

constexpr Operator kLogicOperators[] = {
    {"And", binary<ops::logical_and>},
    {"BitwiseAnd", binary<ops::bitwise_and>},
    {"BitwiseNot", unary<ops::bitwise_not>},
    {"BitwiseOr", binary<ops::bitwise_or>},
    {"BitwiseXor", binary<ops::bitwise_xor>},
    {"Equal", binary<ops::eq>},
    {"Greater", binary<ops::gt>},
    {"GreaterOrEqual", binary<ops::ge>},
    {"Less", binary<ops::lt>},
    {"LessOrEqual", binary<ops::le>},
    {"Not", unary<ops::logical_not>},
    {"Or", binary<ops::logical_or>},
    {"Where", where},
    {"Xor", binary<ops::logical_xor>},
};

}  // namespace

std::span<const Operator> logic_operators() { return kLogicOperators; }

}  // namespace kiln::onnx
