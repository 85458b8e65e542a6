#include "jit/graph/filled.h"

namespace kiln::jit {

std::optional<Number> filled_with(const Node& node) {
  if (node.is_constant() || node.form != Form::Plain) return std::nullopt;
  const auto* facts = node.op->lowering.as<lowering::Fill>();
  if (facts == nullptr) return std::nullopt;
  if (facts->number) return Number(Dim(*facts->number));
  if (!node.operands[0].is_number()) return std::nullopt;
  const Number& fill = node.operands[0].number;
  const auto* size = std::get_if<Dim>(&fill);
  return size == nullptr || size->is_known() ? std::optional(fill) : std::nullopt;
}

}  // namespace kiln::jit
