// Owns how host functions read their arguments: conversions that raise one kind of message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/values/natives.h"

namespace kiln::interp::host {

// Each raises TypeError "`parameter` must be an int, got str"; the VM adds the function and the place.
std::int64_t int_argument(const Value& value, std::string_view parameter);
double float_argument(const Value& value, std::string_view parameter);
bool bool_argument(const Value& value, std::string_view parameter);
const std::string& text_argument(const Value& value, std::string_view parameter);
// ValueError when a NUL, at which the system would cut it, is in a text for the system.
void refuse_nul(std::string_view text, std::string_view parameter);
// A path, or another text for the system.
const std::string& path_argument(const Value& value, std::string_view parameter);
kiln::Tensor tensor_argument(const Value& value, std::string_view parameter);
// The default device for none.
kiln::Device device_argument(const Value& value, std::string_view parameter);
std::optional<kiln::Device> optional_device_argument(const Value& value, std::string_view parameter);
// A dtype, a type that names one (`float`, `int`, `bool`) or its name; nothing for none.
std::optional<kiln::DType> dtype_argument(const Value& value, std::string_view parameter);
// The items of a list or tuple; null for other values.
const std::vector<Value>* items_of(const Value& value);
kiln::Dims dims_argument(const Value& value, std::string_view parameter);

[[noreturn]] void wrong_type(std::string_view parameter, std::string_view wanted, const Value& got);

inline const std::string& text_of(const Value& value) { return value.as<Str>().text; }
// Of a method of strings: the string that it is called on.
inline const std::string& text_of_self(std::span<const Value> arguments) { return text_of(arguments[0]); }
inline Value list_value(std::vector<Value> items) { return make<List>(std::move(items)); }
inline Value tuple_value(std::vector<Value> items) { return make<Tuple>(std::move(items)); }
Value dims_value(std::span<const kiln::Dim> dims);  // a tuple of ints

// A host function made at run time: closures of the library itself, which name what they hold (`holding`).
Value native_value(std::string name, std::string signature, std::string documentation,
                   std::vector<NativeParameter> parameters, NativeCall call);

// The type of a value as a value: a Type, or the StructType of an instance. One object per type.
Value type_value(const Value& value);
Value type_value(Tag tag);
// Adds the entries of a dict, or of an iterable of pairs.
void update_dict(Interpreter& interpreter, Dict& dict, const Value& from);

// Can it be called?
bool is_callable(const Value& value);

// A Type or StructType, or a tuple of them.
bool is_instance(const Value& value, const Value& type);

// Stable, by `key` of each item unless none. What raises on the way leaves the items as they were.
void sort_values(Interpreter& interpreter, std::vector<Value>& items, const Value& key, bool reverse);

// Order of two host values as `<` has it; compares through the interpreter.
bool less(Interpreter& interpreter, const Value& a, const Value& b);

}  // namespace kiln::interp::host
