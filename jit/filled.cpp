#include "jit/filled.h"

#include <algorithm>
#include <utility>

namespace kiln::jit {

std::optional<Number> filled_with(const Node& node) {
  if (node.is_constant() || node.form != Form::Plain || node.op->lowering != Lowering::Create)
    return std::nullopt;
  static constexpr std::pair<std::string_view, std::int64_t> kNumbers[] = {
      {"zeros", 0}, {"ones", 1}, {"zeros_like", 0}, {"ones_like", 1}, {"new_zeros", 0}, {"new_ones", 1}};
  const std::string_view name = node.op->name();
  const auto found = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                  [name](const auto& each) { return each.first == name; });
  if (found != std::end(kNumbers)) return Number(Size(found->second));
  if (name != "full" || !node.operands[0].is_number()) return std::nullopt;
  const Number& fill = node.operands[0].number;
  const auto* size = std::get_if<Size>(&fill);
  return size == nullptr || size->is_constant() ? std::optional(fill) : std::nullopt;
}

}  // namespace kiln::jit
