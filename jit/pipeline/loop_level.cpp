#include "jit/pipeline/loop_level.h"

#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/view.h"

namespace kiln::jit {
namespace {

bool is_captured(const levels::Level& level, const Tensor& x) {
  return !level.owns(x) || levels::wrapper_of(x)->captured;
}

Tensor wrapped(const levels::Level& level, const Tensor& x, bool captured) {
  return levels::wrap(level.id(), level.kind(), x, {}, captured);
}

// Finds the program's value of the input that a flow gave back as `x`. It is null where `x` is no input.
const FlowValue* given_as(const Tensor& x, std::span<const FlowValue> program,
                          std::span<const FlowValue> below) {
  for (std::size_t i = 0; i < below.size(); ++i)
    if (below[i].tensor && below[i].tensor.is_same(x)) return &program[i];
  return nullptr;
}

// Finds the program's tensor of an input that shares memory with `x`. It is null where no input does.
const Tensor* shown_input(const Tensor& x, std::span<const FlowValue> program,
                          std::span<const FlowValue> below) {
  for (std::size_t i = 0; i < below.size(); ++i)
    if (below[i].tensor && shares_storage(below[i].tensor, x)) return &program[i].tensor;
  return nullptr;
}

}  // namespace

levels::Level* gradient_around() {
  levels::Level* const top = levels::top;
  const bool is_one = top != nullptr && top->kind() == LevelKind::Grad && top->below() == nullptr;
  return is_one ? top : nullptr;
}

std::optional<Tensor> plain_below(const levels::Level& level, const Tensor& x) {
  if (!x) return Tensor();
  const Tensor value = levels::value_below(level, x);
  const bool is_plain = levels::wrapper_of(value) == nullptr && !requires_grad(value);
  return is_plain ? std::optional(value) : std::nullopt;
}

std::optional<std::vector<FlowValue>> values_below(const levels::Level& level,
                                                   std::span<const FlowValue> program) {
  std::vector<FlowValue> values(program.begin(), program.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor) continue;
    const std::optional<Tensor> plain = plain_below(level, program[i].tensor);
    if (!plain) return std::nullopt;
    values[i].tensor = *plain;
    for (std::size_t k = 0; k < i; ++k)
      if (values[k].tensor && values[k].tensor.is_same(values[i].tensor)) return std::nullopt;
  }
  return values;
}

void lift_results(const levels::Level& level, FlowResult& result, std::span<const FlowValue> program,
                  std::span<const FlowValue> below) {
  const std::vector<FlowValue> plain = result.values;
  const auto is_first = [&plain](std::size_t k) {
    return std::none_of(
        plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(k),
        [&](const FlowValue& each) { return each.tensor && each.tensor.is_same(plain[k].tensor); });
  };
  const auto value_of = [&](const Tensor& x) -> Tensor {
    for (std::size_t k = 0; k < plain.size(); ++k)
      if (plain[k].tensor && plain[k].tensor.is_same(x)) return result.values[k].tensor;
    return {};
  };
  for (std::size_t k = 0; k < plain.size(); ++k) {
    const Tensor& x = plain[k].tensor;
    if (!x) continue;
    if (const FlowValue* const given = given_as(x, program, below)) {
      result.values[k].tensor = given->tensor;
    } else if (is_first(k)) {
      const Tensor* const shown = shown_input(x, program, below);
      result.values[k].tensor = wrapped(level, x, shown != nullptr && is_captured(level, *shown));
    } else {
      result.values[k].tensor = value_of(x);
    }
  }
  for (std::size_t k = 0; k < plain.size(); ++k) {
    const Tensor& x = plain[k].tensor;
    if (!x || x.impl()->origin == nullptr || !is_first(k) || given_as(x, program, below)) continue;
    const Tensor* const shown = shown_input(x, program, below);
    const Tensor base = shown != nullptr ? *shown : value_of(x.impl()->origin->base);
    if (base) link_as_strided(base, result.values[k].tensor);
  }
}

}  // namespace kiln::jit
