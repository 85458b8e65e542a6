#include "jit/graph/filled.h"

namespace kiln::jit {

std::optional<Number> filled_with(const Node& node) {
  if (node.is_constant() || node.form != Form::Plain) return std::nullopt;
  const auto* facts = node.op->lowering.as<lowering::Fill>();
  if (facts == nullptr) return std::nullopt;
  if (facts->number) return Number(Size(*facts->number));
  if (!node.operands[0].is_number()) return std::nullopt;
  const Number& fill = node.operands[0].number;
  const auto* size = std::get_if<Size>(&fill);
  return size == nullptr || size->is_constant() ? std::optional(fill) : std::nullopt;
}

}  // namespace kiln::jit
