#include "tensor/onnx/versions.h"

#include <algorithm>
#include <iterator>

namespace kiln {
namespace {

struct FirstOpset {
  std::string_view type;
  int opset;
};
// Operators that are not listed are those of the oldest opset that is written.
constexpr FirstOpset kFirst[] = {
    {"BitwiseAnd", 18}, {"BitwiseNot", 18}, {"BitwiseOr", 18},          {"BitwiseXor", 18},
    {"DFT", 17},        {"Gelu", 20},       {"GroupNormalization", 21}, {"LayerNormalization", 17},
    {"Trilu", 14}};

// Of scattering that combines elements of one place; 0 for all else.
int first_with_reduction(const OnnxAttrs& attributes) {
  for (const auto& [name, value] : attributes) {
    if (name != "reduction") continue;
    const auto& how = std::get<std::string>(value);
    return how == "none" ? 0 : how == "add" || how == "mul" ? 16 : 18;
  }
  return 0;
}

}  // namespace

OperatorVersion version_of(std::string_view type, const OnnxAttrs& attributes) {
  const std::string words(type);
  if (const int first = first_with_reduction(attributes); first > 0)
    return {first, words + " that combines elements"};
  const auto* const found = std::ranges::find(kFirst, type, &FirstOpset::type);
  return {found == std::end(kFirst) ? 0 : found->opset, words};
}

}  // namespace kiln
