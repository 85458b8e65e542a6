// Owns the look-up of what a value has by name: fields, methods, and functions that take it first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <span>

#include "interpreter/values/objects.h"

namespace kiln::interp {

class Interpreter;

// A field or method that the host library gives to all values of a type.
struct HostMember {
  bool is_field;
  Value native;
};
const HostMember* host_member(Tag tag, std::string_view name);

// Whether `object.name` is a field or method of the object itself.
bool has_member(const Value& object, std::string_view name);

std::vector<std::string> member_names(const Value& object);

// "`Linear` has no field or method `wieght`", with the nearest name there is.
// `functions` are names that a uniform call could have meant.
[[noreturn]] void no_member(const Value& object, std::string_view name,
                            std::span<const std::string> functions = {});

}  // namespace kiln::interp
