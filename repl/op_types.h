// Owns the typing of op calls from the types of their arguments: binds them to a signature and asks its rule.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "interpreter/values/value.h"
#include "lang/source.h"
#include "tensor/tensor.h"

namespace kiln::repl {

// What is known of a value without computing it: the value itself (names, literals, sizes), or a tensor's
// type, or the name of its type.
struct KnownType {
  std::optional<interp::Value> value;
  std::optional<TensorType> tensor;
  std::string type;
  std::optional<interp::Value> struct_type = std::nullopt;  // of an instance that is not made yet

  static KnownType of(const interp::Value& value);
  static KnownType of(TensorType type);
  static KnownType named(std::string type) {
    return {std::nullopt, std::nullopt, std::move(type), std::nullopt};
  }
  bool is_tensor() const { return tensor.has_value(); }
  std::string text() const;
};

// Why a type is not known: "it depends on what `f` does".
struct Unknown {
  std::string reason;
};

struct KnownArgument {
  std::string_view name;  // empty: by position
  KnownType value;
  lang::Span span;
};

// The type an op's call gives; a tuple for several outputs. Throws Unknown, OpError when the rule refuses,
// with operands as indices of `arguments`.
KnownType op_call_type(std::string_view name, std::span<const KnownArgument> arguments);

}  // namespace kiln::repl
