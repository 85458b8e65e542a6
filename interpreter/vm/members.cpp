#include "interpreter/vm/members.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "interpreter/values/natives.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/operators.h"
#include "stdlib/embedded.h"
#include "tensor/op.h"

namespace kiln::interp {
namespace {

using Members = std::unordered_map<std::string_view, HostMember>;

Members read_members(Tag tag) {
  Members members;
  for (const NativeDef& def : methods_of(tag)) {
    const std::string_view signature = def.signature;
    const auto open = signature.find('(');
    members.emplace(signature.substr(0, open), HostMember{open == std::string_view::npos, make_native(def)});
  }
  return members;
}

const Members& members_of(Tag tag) {
  static std::array<const Members*, static_cast<std::size_t>(Tag::Tensor) + 1> tables{};
  const Members*& table = tables[static_cast<std::size_t>(tag)];
  if (!table) table = new Members(read_members(tag));  // lives as long as the process
  return *table;
}

Value bound(const Value& receiver, const Value& function) { return make<Method>(receiver, function); }

// An op read as a method without being called, such as `x.relu`.
Value op_method(const Value& receiver, std::string_view name, const OpEntry* op) {
  auto* native = new Native();
  const Value function{static_cast<Object*>(native)};
  native->name = name;
  native->data = op;
  native->unbound = [](Interpreter& interpreter, const Native& self, std::span<const Value> arguments,
                       std::span<const std::pair<std::string_view, Value>> named) {
    return call_op(interpreter, *static_cast<const OpEntry*>(self.data), arguments, named);
  };
  return bound(receiver, function);
}

// The parts of complex numbers may be written as fields: `z.real` is `z.real()`.
bool is_part(std::string_view name) { return name == "real" || name == "imag"; }

const Value* opaque_method(const Value& object, std::string_view name) {
  for (const auto& [method, native] : object.as<Opaque>().methods) {
    if (method == name) return &native;
  }
  return nullptr;
}

// The part of an op's result that has this name: `x.sort().values`.
const Value* named_item(const Tuple& tuple, std::string_view name) {
  if (tuple.names == nullptr) return nullptr;
  const auto found = std::find(tuple.names->begin(), tuple.names->end(), name);
  if (found == tuple.names->end()) return nullptr;
  return &tuple.items[static_cast<std::size_t>(found - tuple.names->begin())];
}

}  // namespace

const HostMember* host_member(Tag tag, std::string_view name) {
  const Members& members = members_of(tag);
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

bool has_member(const Value& object, std::string_view name) {
  if (object.is(Tag::Instance)) {
    auto& instance = object.as<Instance>();
    if (instance.find(name) || instance.struct_type().method(name)) return true;
  }
  if (object.is(Tag::Opaque) && opaque_method(object, name)) return true;
  return host_member(object.tag(), name) != nullptr;
}

namespace {

// Without the methods of all structs.
std::vector<std::string> own_names(const Instance& instance) {
  std::vector<std::string> names;
  for (const auto& field : instance.struct_type().fields) names.push_back(field);
  for (const auto& [name, value] : instance.extra) names.push_back(name);
  for (const auto& [name, value] : instance.struct_type().methods) names.push_back(name);
  return names;
}

}  // namespace

std::vector<std::string> member_names(const Value& object) {
  std::vector<std::string> names;
  if (object.is(Tag::Instance)) names = own_names(object.as<Instance>());
  for (const auto& [name, member] : members_of(object.tag())) names.emplace_back(name);
  if (object.is(Tag::Module)) {
    const auto& module = object.as<Module>();
    for (std::size_t i = 0; i < module.names.size(); ++i) {
      if (!module.slots[i].is_unset()) names.push_back(module.names[i]);
    }
    if (module.path.empty()) {
      for (const std::string_view name : stdlib_part_names(module.name)) {
        if (module.find(name) == nullptr) names.emplace_back(name);
      }
    }
  } else if (object.is(Tag::StructType)) {
    for (const auto& [name, value] : object.as<StructType>().methods) names.push_back(name);
  } else if (object.is(Tag::Opaque)) {
    for (const auto& [name, value] : object.as<Opaque>().methods) names.push_back(name);
  } else if (object.is(Tag::Tuple) && object.as<Tuple>().names != nullptr) {
    names.insert(names.end(), object.as<Tuple>().names->begin(), object.as<Tuple>().names->end());
  } else if (object.is(Tag::Tensor)) {
    for (const kiln::Op* op : kiln::OpTable::get().ops()) {
      if (!op->signature.parameters.empty() && op->name().find('.') == std::string_view::npos) {
        names.emplace_back(op->name());
      }
    }
  }
  return names;
}

namespace {

// What a struct has, when that is short enough to be said.
std::string listed_members(const Instance& instance) {
  constexpr std::size_t kMost = 8;
  const std::vector<std::string> names = own_names(instance);
  if (names.empty() || names.size() > kMost) return "";
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + ("`" + names[i] + "`");
  }
  return "it has " + list;
}

std::string help_with_member(const Value& object, std::string_view name,
                             const std::vector<std::string_view>& candidates) {
  if (object.is_none()) return help_with_none(object);
  if (object.is(Tag::Tensor) && name == "numpy") {
    return "a tensor is an array itself; `x.tolist()` is a list, `save(\"x.npy\", x)` a file for NumPy";
  }
  if (object.is(Tag::Tensor)) return lang::suggest(name, candidates);
  const bool is_layer = object.is(Tag::Instance) && object.as<Instance>().struct_type().method("call");
  if (is_layer && name == "forward") return "a layer is called itself: `model(x)`";
  if (object.is(Tag::Dict) && object.as<Dict>().find(name) != nullptr)
    return "an item is read by its key: `d[\"" + std::string(name) + "\"]`";
  const bool is_plain = object.is(Tag::List) || object.is(Tag::Str) || object.is(Tag::Dict);
  if (std::string foreign = lang::foreign_method(name); is_plain && !foreign.empty()) return foreign;
  if (object.is(Tag::Module) && is_op(name)) return "`" + std::string(name) + "` needs no module";
  const auto near = lang::nearest(name, candidates);
  if (!near.empty()) return "did you mean `" + std::string(near) + "`?";
  return object.is(Tag::Instance) ? listed_members(object.as<Instance>()) : "";
}

}  // namespace

void no_member(const Value& object, std::string_view name, std::span<const std::string> functions) {
  if (object.is(Tag::Instance)) {
    const Instance& instance = object.as<Instance>();
    if (instance.struct_type().field(name) >= 0) {
      raise("AttributeError",
            "field `" + std::string(name) + "` of `" + instance.struct_type().name + "` has no value yet",
            "assign it in `init`");
    }
  }
  const std::vector<std::string> names = member_names(object);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  candidates.insert(candidates.end(), functions.begin(), functions.end());
  raise("AttributeError", describe(object) + " has no field or method `" + std::string(name) + "`",
        help_with_member(object, name, candidates));
}

Value get_attribute(Interpreter& interpreter, const Value& object, std::string_view name) {
  switch (object.tag()) {
    case Tag::Instance: {
      auto& instance = object.as<Instance>();
      if (const Value* field = instance.find(name)) return *field;
      if (const Value* method = instance.struct_type().method(name)) return bound(object, *method);
      break;
    }
    case Tag::Module:
      if (const Value* found = interpreter.impl().modules.value_in(object.as<Module>(), name)) return *found;
      break;
    case Tag::StructType:
      if (const Value* method = object.as<StructType>().method(name)) return *method;
      break;
    case Tag::Tuple:
      if (const Value* item = named_item(object.as<Tuple>(), name)) return *item;
      break;
    case Tag::Opaque:
      if (const Value* method = opaque_method(object, name)) return bound(object, *method);
      break;
    default:
      break;
  }
  if (const HostMember* member = host_member(object.tag(), name)) {
    if (!member->is_field) return bound(object, member->native);
    Value receiver = object;
    return member->native.as<Native>().call(interpreter, std::span(&receiver, 1));
  }
  if (object.is(Tag::Tensor)) {
    const OpEntry* op = find_op(name);
    if (op != nullptr && is_part(name)) return call_op(interpreter, *op, {&object, 1});
    if (op != nullptr) return op_method(object, name, op);
  }
  no_member(object, name);
}

namespace {

// A name that no field has: mostly one that was misspelt.
[[noreturn]] void no_field(const StructType& type, std::string_view name) {
  if (type.method(name)) {
    raise("AttributeError",
          "`" + std::string(name) + "` of `" + type.name + "` is a method: it cannot be assigned");
  }
  std::vector<std::string_view> fields(type.fields.begin(), type.fields.end());
  fields.insert(fields.end(), type.init_fields.begin(), type.init_fields.end());
  const std::string_view near = lang::nearest(name, fields);
  raise("AttributeError", "`" + type.name + "` has no field `" + std::string(name) + "`",
        near.empty()
            ? "declare it: `struct " + type.name + " { " + std::string(name) + " … }`"
            : "did you mean `" + std::string(near) + "`? A new field must be declared in the struct");
}

}  // namespace

void set_attribute(Interpreter& interpreter, const Value& object, std::string_view name, const Value& value) {
  if (object.is(Tag::Instance)) {
    auto& instance = object.as<Instance>();
    const StructType& type = instance.struct_type();
    Value copy = value;
    if (const int field = type.field(name); field >= 0) {
      instance.fields[static_cast<std::size_t>(field)].swap(copy);
    } else if (Value* extra = instance.find(name)) {
      extra->swap(copy);
    } else if (type.is_open || std::count(type.init_fields.begin(), type.init_fields.end(), name) > 0) {
      instance.extra.emplace_back(std::string(name), std::move(copy));
    } else {
      no_field(type, name);
    }
    return;
  }
  if (object.is(Tag::Module)) return object.as<Module>().set(name, value);
  if (!set_field(interpreter, object, name, value)) {
    if (host_member(object.tag(), name)) {
      raise("AttributeError", "`" + std::string(name) + "` of " + describe(object) + " cannot be assigned");
    }
    no_member(object, name);
  }
}

}  // namespace kiln::interp
