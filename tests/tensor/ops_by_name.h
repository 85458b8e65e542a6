// Owns calling ops by their names, also those that tensor/functions.h has no function for.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "tensor/op.h"

namespace kiln::gradients {

using NamedAttrs = std::initializer_list<std::pair<std::string_view, Attr>>;

inline Attrs attrs_of(const Op& op, NamedAttrs named) {
  Attrs attrs(op);
  for (const auto& [name, value] : named) attrs.set(name, value);
  return attrs;
}

inline Tensors call_all(std::string_view name, std::initializer_list<Tensor> inputs, NamedAttrs named = {}) {
  const Op& op = OpTable::get().at(name);
  return bind(op, {inputs.begin(), inputs.size()}, attrs_of(op, named));
}
inline Tensor call(std::string_view name, std::initializer_list<Tensor> inputs, NamedAttrs named = {}) {
  return call_all(name, inputs, named)[0];
}
// The `_` form.
inline Tensor write(std::string_view name, std::initializer_list<Tensor> inputs, NamedAttrs named = {}) {
  const Op& op = OpTable::get().at(name);
  return bind_inplace(op, {inputs.begin(), inputs.size()}, attrs_of(op, named));
}

}  // namespace kiln::gradients
