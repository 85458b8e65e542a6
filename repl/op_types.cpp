#include "repl/op_types.h"

#include <fmt/format.h>

#include <vector>

#include "interpreter/vm/op_entry.h"
#include "tensor/op.h"
#include "tensor/op_names.h"

namespace kiln::repl {
namespace {

using interp::Tag;
using interp::Value;

// This overload does not take these arguments.
struct NoMatch {};

std::optional<TensorType> operand_type(const KnownType& known) {
  if (known.tensor) return known.tensor;
  const auto number = [](DType dtype) { return TensorType{dtype, default_device(), {}, true}; };
  if (known.value) {
    if (known.value->is(Tag::Bool)) return number(DType::Bool);
    if (known.value->is(Tag::Int)) return number(DType::I64);
    if (known.value->is(Tag::Float)) return number(DType::F64);
  }
  if (known.type == "bool") return number(DType::Bool);
  if (known.type == "int") return number(DType::I64);
  if (known.type == "float") return number(DType::F64);
  if (known.type == "complex") return number(DType::C128);
  return std::nullopt;
}

std::span<const Value> items_of(const Value& value) {
  if (value.is(Tag::List)) return value.as<interp::List>().items;
  if (value.is(Tag::Tuple)) return value.as<interp::Tuple>().items;
  throw NoMatch{};
}

kiln::Dims dims_of(std::span<const Value> items) {
  kiln::Dims dims;
  for (const Value& item : items) {
    if (!item.is(Tag::Int)) throw NoMatch{};
    dims.push_back(item.as_int());
  }
  return dims;
}

Attr to_attr(ArgKind kind, const Value& v) {
  const auto expect = [&](bool fits) {
    if (!fits) throw NoMatch{};
  };
  switch (kind) {
    case ArgKind::Bool:
      expect(v.is(Tag::Bool));
      return v.as_bool();
    case ArgKind::Int:
    case ArgKind::Index:
      expect(v.is(Tag::Int));
      return v.as_int();
    case ArgKind::Float:
      expect(v.is_number());
      return v.number();
    case ArgKind::Number:
      expect(v.is_number());
      if (v.is(Tag::Bool)) return v.as_bool();
      if (v.is(Tag::Int)) return v.as_int();
      return v.as_float();
    case ArgKind::String:
      expect(v.is(Tag::Str));
      return v.as<interp::Str>().text;
    case ArgKind::Dtype:
      expect(v.is(Tag::DType));
      return v.as_dtype();
    case ArgKind::Device:
      expect(v.is(Tag::Device));
      return v.as_device();
    case ArgKind::Ints:
    case ArgKind::Dims:
      return v.is(Tag::Int) ? kiln::Dims{v.as_int()} : dims_of(items_of(v));
    default:
      throw NoMatch{};
  }
}

bool is_tensor_kind(ArgKind kind) {
  return kind == ArgKind::Tensor || kind == ArgKind::OptionalTensor || kind == ArgKind::TensorList ||
         kind == ArgKind::OptionalTensorList;
}

// One attempt to bind a call to one overload.
class Binding {
 public:
  Binding(const Op& op, std::span<const KnownArgument> arguments)
      : op_(op), attrs_(op), arguments_(arguments) {}

  std::vector<TensorType> infer() {
    std::size_t named = 0;
    for (const KnownArgument& argument : arguments_) {
      (argument.name.empty() ? positional_ : named) += 1;
    }
    for (const Parameter& parameter : op_.signature.parameters) bind(parameter);
    if (next_ != positional_ || used_names_ != named) throw NoMatch{};
    inputs_.insert(inputs_.end(), listed_.begin(), listed_.end());
    return op_.infer(inputs_, attrs_);
  }

 private:
  void bind(const Parameter& parameter) {
    if (const KnownType* named = by_name(parameter.name)) return take(parameter, *named);
    if (next_ < positional_ && !parameter.keyword_only) {
      // Sizes may be spread over the rest of the call.
      if (parameter.kind == ArgKind::Ints && is_int(arguments_[next_].value)) return take_spread(parameter);
      return take(parameter, arguments_[next_++].value);
    }
    if (parameter.kind == ArgKind::OptionalTensor) return inputs_.push_back({});
    if (!parameter.has_default && !parameter.optional) throw NoMatch{};
  }

  static bool is_int(const KnownType& known) { return known.value && known.value->is(Tag::Int); }

  const KnownType* by_name(std::string_view name) {
    for (const KnownArgument& argument : arguments_) {
      if (argument.name != name || name.empty()) continue;
      ++used_names_;
      return &argument.value;
    }
    return nullptr;
  }

  void take_spread(const Parameter& parameter) {
    kiln::Dims dims;
    for (; next_ < positional_ && is_int(arguments_[next_].value); ++next_) {
      dims.push_back(arguments_[next_].value.value->as_int());
    }
    attrs_.set(parameter.name, dims);
  }

  void take(const Parameter& parameter, const KnownType& known) {
    const bool none = known.value && known.value->is_none();
    if (none && !parameter.optional && parameter.kind != ArgKind::OptionalTensor) throw NoMatch{};
    if (parameter.kind == ArgKind::TensorList || parameter.kind == ArgKind::OptionalTensorList) {
      return take_list(known);
    }
    if (is_tensor_kind(parameter.kind)) {
      const auto type = none ? TensorType{} : operand_type(known);
      if (!type) throw NoMatch{};
      return inputs_.push_back(*type);
    }
    if (none) {
      attrs_.set(parameter.name, std::monostate{});
      return;
    }
    if (!known.value) throw Unknown{fmt::format("the value of `{}` is not known", parameter.name)};
    if (parameter.kind == ArgKind::Bool && known.value->is(Tag::Bool) &&
        !interp::admits(parameter, known.value->as_bool()))
      throw NoMatch{};
    attrs_.set(parameter.name, to_attr(parameter.kind, *known.value));
  }

  void take_list(const KnownType& known) {
    if (!known.value) throw Unknown{"the tensors in the list are not known"};
    for (const Value& item : items_of(*known.value)) {
      const auto type = operand_type(KnownType::of(item));
      if (!type) throw NoMatch{};
      listed_.push_back(*type);
    }
  }

  const Op& op_;
  Attrs attrs_;
  std::span<const KnownArgument> arguments_;
  std::size_t positional_ = 0, next_ = 0, used_names_ = 0;
  std::vector<TensorType> inputs_, listed_;
};

KnownType outputs_type(std::vector<TensorType> outputs) {
  if (outputs.size() == 1) return KnownType::of(std::move(outputs.front()));
  std::string text;
  for (const TensorType& output : outputs) text += (text.empty() ? "" : ", ") + to_string(output);
  return KnownType::named("(" + text + ")");
}

}  // namespace

KnownType KnownType::of(const Value& value) {
  KnownType known{value, std::nullopt, interp::describe(value), std::nullopt};
  if (value.is(Tag::Tensor)) known.tensor = value.as_tensor().type();
  return known;
}

KnownType KnownType::of(TensorType type) {
  std::string text = to_string(type);
  return {std::nullopt, std::move(type), std::move(text), std::nullopt};
}

std::string KnownType::text() const { return tensor ? to_string(*tensor) : type; }

KnownType op_call_type(std::string_view any_name, std::span<const KnownArgument> arguments) {
  const std::string name = own_name(any_name);
  const bool in_place = OpTable::get().find(name) == nullptr && name.ends_with('_');
  if (in_place && !arguments.empty() && arguments.front().value.is_tensor()) return arguments.front().value;
  for (const Op* op : OpTable::get().ops()) {
    const std::string_view own = op->name();
    if (own.substr(0, own.find('.')) != name) continue;
    try {
      return outputs_type(Binding(*op, arguments).infer());
    } catch (const NoMatch&) {
      continue;
    }
  }
  throw Unknown{fmt::format("these arguments of `{}` cannot be bound by type alone", name)};
}

}  // namespace kiln::repl
