#include "interpreter/values/objects.h"

#include <algorithm>

#include "interpreter/values/raise.h"

namespace kiln::interp {

namespace {
// What an instruction can name. The memory is reserved, not used, until there are that many.
constexpr std::size_t kMaxSlots = 65536;
}  // namespace

Module::Module() : Container(Tag::Module) { slots.reserve(kMaxSlots); }

std::uint32_t Module::slot(std::string_view variable) {
  if (const auto found = index_.find(variable); found != index_.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(slots.size());
  if (index == kMaxSlots) raise("SyntaxError", "a module has too many variables (more than 65536)");
  slots.push_back(Value::unset());
  names.emplace_back(variable);
  origins.emplace_back();
  index_.emplace(std::string(variable), index);
  return index;
}

const Value* Module::find(std::string_view variable) const {
  const auto found = index_.find(variable);
  if (found == index_.end() || slots[found->second].is_unset()) return nullptr;
  return &slots[found->second];
}

void Module::set(std::string_view variable, Value value) { slots[slot(variable)].take(value); }

namespace {
std::uint32_t next_struct_id = 1;
}

StructType::StructType() : Container(Tag::StructType), id(next_struct_id++) {}

int StructType::field(std::string_view wanted) const {
  const auto found = std::find(fields.begin(), fields.end(), wanted);
  return found == fields.end() ? -1 : static_cast<int>(found - fields.begin());
}

const Value* StructType::method(std::string_view wanted) const {
  for (const auto& [method_name, value] : methods) {
    if (method_name == wanted) return &value;
  }
  return nullptr;
}

Value* Instance::find(std::string_view name) {
  if (const int index = struct_type().field(name); index >= 0) {
    Value& value = fields[static_cast<std::size_t>(index)];
    return value.is_unset() ? nullptr : &value;
  }
  for (auto& [extra_name, value] : extra) {
    if (extra_name == name) return &value;
  }
  return nullptr;
}

}  // namespace kiln::interp
