#include "interpreter/vm/arguments.h"

#include <fmt/format.h>

#include "interpreter/values/compare_numbers.h"

namespace kiln::interp::host {

void wrong_type(std::string_view parameter, std::string_view wanted, const Value& got) {
  raise("TypeError", fmt::format("`{}` must be {}, got {}", parameter, wanted, describe(got)));
}

std::int64_t int_argument(const Value& value, std::string_view parameter) {
  if (value.is(Tag::Int) || value.is(Tag::Bool)) return value.as_int();
  if (value.is(Tag::Tensor) && value.tensor_impl()->numel == 1 && !is_float(value.tensor_impl()->dtype)) {
    return value.as_tensor().item_int();
  }
  wrong_type(parameter, "an int", value);
}

double float_argument(const Value& value, std::string_view parameter) {
  if (value.is_number()) return value.number();
  if (value.is(Tag::Tensor) && value.tensor_impl()->numel == 1) return value.as_tensor().item_float();
  wrong_type(parameter, "a number", value);
}

bool bool_argument(const Value& value, std::string_view parameter) {
  if (value.is(Tag::Bool)) return value.as_bool();
  wrong_type(parameter, "true or false", value);
}

const std::string& text_argument(const Value& value, std::string_view parameter) {
  if (value.is(Tag::Str)) return text_of(value);
  wrong_type(parameter, "a str", value);
}

void refuse_nul(std::string_view text, std::string_view parameter) {
  if (text.find('\0') == std::string_view::npos) return;
  raise("ValueError", fmt::format("`{}` holds a NUL character, at which the system would cut it", parameter));
}

const std::string& path_argument(const Value& value, std::string_view parameter) {
  const std::string& path = text_argument(value, parameter);
  refuse_nul(path, parameter);
  return path;
}

kiln::Tensor tensor_argument(const Value& value, std::string_view parameter) {
  if (value.is(Tag::Tensor)) return value.as_tensor();
  wrong_type(parameter, "a tensor", value);
}

std::optional<kiln::Device> optional_device_argument(const Value& value, std::string_view parameter) {
  if (value.is_none()) return std::nullopt;
  return device_argument(value, parameter);
}

kiln::Device device_argument(const Value& value, std::string_view parameter) {
  if (value.is_none()) return kiln::default_device();
  if (value.is(Tag::Device)) return value.as_device();
  if (value.is(Tag::Str)) return kiln::parse_device(text_of(value));
  wrong_type(parameter, "a device such as \"cpu\"", value);
}

std::optional<kiln::DType> dtype_argument(const Value& value, std::string_view parameter) {
  if (value.is_none()) return std::nullopt;
  if (value.is(Tag::DType)) return value.as_dtype();
  if (value.is(Tag::Type)) {
    switch (value.as<Type>().instances) {
      case Tag::Float:
        return kiln::default_float();
      case Tag::Complex:
        return kiln::complex_of(kiln::default_float());
      case Tag::Int:
        return kiln::DType::I64;
      case Tag::Bool:
        return kiln::DType::Bool;
      default:
        break;
    }
  }
  if (value.is(Tag::Str)) {
    if (const auto dtype = kiln::dtype_named(text_of(value))) return dtype;
    raise("ValueError", fmt::format("there is no dtype '{}'", text_of(value)),
          "the dtypes are bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128");
  }
  wrong_type(parameter, "a dtype such as `f32`", value);
}

const std::vector<Value>* items_of(const Value& value) {
  if (value.is(Tag::List)) return &value.as<List>().items;
  if (value.is(Tag::Tuple)) return &value.as<Tuple>().items;
  return nullptr;
}

kiln::Dims dims_argument(const Value& value, std::string_view parameter) {
  kiln::Dims dims;
  if (const auto* items = items_of(value)) {
    for (const Value& item : *items) dims.push_back(int_argument(item, parameter));
    return dims;
  }
  dims.push_back(int_argument(value, parameter));
  return dims;
}

Value dims_value(std::span<const kiln::Dim> dims) {
  return tuple_value(std::vector<Value>(dims.begin(), dims.end()));
}

Value native_value(std::string name, std::string signature, std::string documentation,
                   std::vector<NativeParameter> parameters, NativeCall call) {
  auto* native = new Native();
  Value value{static_cast<Object*>(native)};
  native->name = std::move(name);
  native->signature = std::move(signature);
  native->documentation = std::move(documentation);
  native->parameters = std::move(parameters);
  native->call = std::move(call);
  return value;
}

bool less(Interpreter& interpreter, const Value& a, const Value& b) {
  if (a.is(Tag::Int) && b.is(Tag::Int)) return a.as_int() < b.as_int();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) < 0;
  if (a.is(Tag::Str) && b.is(Tag::Str)) return text_of(a) < text_of(b);
  return interpreter.truth(interpreter.compare(lang::CompareOp::Lt, a, b));
}

}  // namespace kiln::interp::host
