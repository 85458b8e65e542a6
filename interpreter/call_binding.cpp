#include <algorithm>

#include "interpreter/call.h"

namespace kiln::interp {
namespace {

using lang::Parameter;

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string plural(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// What the binding needs to know of a parameter, of whatever kind of callee.
struct Slot {
  std::string_view name;
  enum class Kind : std::uint8_t { Normal, KeywordOnly, Star, DoubleStar } kind;
};

[[noreturn]] void too_many(std::string_view callee, std::size_t most, std::size_t given) {
  raise("TypeError", quoted(callee) + " takes " +
                         (most == 0 ? "no arguments" : "at most " + plural(most, "argument")) + ", got " +
                         std::to_string(given));
}

[[noreturn]] void unknown_name(std::string_view callee, std::string_view name, std::span<const Slot> slots) {
  std::vector<std::string_view> names;
  for (const Slot& slot : slots) {
    if (slot.kind == Slot::Kind::Normal || slot.kind == Slot::Kind::KeywordOnly) names.push_back(slot.name);
  }
  const auto near = lang::nearest(name, names);
  raise("TypeError", quoted(callee) + " has no parameter " + quoted(name),
        near.empty() ? "" : "did you mean `" + std::string(near) + "`?");
}

[[noreturn]] void missing(std::string_view callee, std::span<const std::string_view> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quoted(names[i]);
  }
  raise("TypeError", quoted(callee) + " needs " + list +
                         (names.size() == 1 ? ", which was" : ", which were") + " not given");
}

// Distributes the arguments; what got none is left unset.
void distribute(std::string_view callee, std::span<const Slot> slots, Arguments& arguments, Value* out) {
  std::size_t positions = 0;
  const Slot* star = nullptr;
  const Slot* double_star = nullptr;
  for (const Slot& slot : slots) {
    if (slot.kind == Slot::Kind::Normal) ++positions;
    if (slot.kind == Slot::Kind::Star) star = &slot;
    if (slot.kind == Slot::Kind::DoubleStar) double_star = &slot;
  }
  const std::size_t given = arguments.positional.size();
  if (given > positions && !star) too_many(callee, positions, given);
  for (std::size_t i = 0; i < slots.size(); ++i) out[i] = Value::unset();
  std::size_t next = 0;
  for (std::size_t i = 0; i < slots.size() && next < given; ++i) {
    if (slots[i].kind == Slot::Kind::Normal) out[i].take(arguments.positional[next++]);
  }
  if (star) {
    std::vector<Value> rest(
        std::make_move_iterator(arguments.positional.begin() + static_cast<std::ptrdiff_t>(next)),
        std::make_move_iterator(arguments.positional.end()));
    out[star - slots.data()] = make<Tuple>(std::move(rest));
  }
  const Value others = double_star ? make<Dict>() : Value();
  for (auto& [name, value] : arguments.named) {
    const auto found = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) {
      return slot.name == name && (slot.kind == Slot::Kind::Normal || slot.kind == Slot::Kind::KeywordOnly);
    });
    if (found != slots.end()) {
      Value& target = out[found - slots.begin()];
      if (!target.is_unset()) raise("TypeError", quoted(callee) + " got " + quoted(name) + " twice");
      target.take(value);
    } else if (double_star) {
      if (others.as<Dict>().find(name))
        raise("TypeError", quoted(callee) + " got " + quoted(name) + " twice");
      others.as<Dict>().set(Value(name), value);
    } else {
      unknown_name(callee, name, slots);
    }
  }
  if (double_star) out[double_star - slots.data()] = others;
}

std::vector<Slot> slots_of(const Code& code) {
  std::vector<Slot> slots;
  for (const CodeParameter& p : code.parameters) {
    const auto kind = p.kind == Parameter::Kind::Star         ? Slot::Kind::Star
                      : p.kind == Parameter::Kind::DoubleStar ? Slot::Kind::DoubleStar
                      : p.keyword_only                        ? Slot::Kind::KeywordOnly
                                                              : Slot::Kind::Normal;
    slots.push_back({p.name, kind});
  }
  return slots;
}

}  // namespace

void bind_function(const Function& function, Arguments& arguments, Value* out) {
  const Code& code = *function.code;
  const std::string_view callee = code.name.empty() ? "fn" : std::string_view(code.name);
  distribute(callee, slots_of(code), arguments, out);
  std::vector<std::string_view> absent;
  std::size_t next_default = 0;
  for (std::size_t i = 0; i < code.parameters.size(); ++i) {
    const CodeParameter& p = code.parameters[i];
    if (out[i].is_unset()) {
      if (p.has_default) {
        out[i] = function.defaults[next_default];
      } else {
        absent.push_back(p.name);
      }
    }
    if (p.has_default) ++next_default;
  }
  if (!absent.empty()) missing(callee, absent);
}

std::vector<Value> bind_native(const Native& native, Arguments& arguments) {
  std::vector<Slot> slots;
  for (const NativeParameter& p : native.parameters)
    slots.push_back({p.name, static_cast<Slot::Kind>(p.kind)});
  std::vector<Value> out(slots.size());
  distribute(native.name, slots, arguments, out.data());
  std::vector<std::string_view> absent;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!out[i].is_unset()) continue;
    if (native.parameters[i].required) absent.push_back(slots[i].name);
    out[i] = native.parameters[i].default_value;
  }
  if (!absent.empty()) missing(native.name, absent);
  return out;
}

Value new_instance(const Value& type) {
  Value result = make<Instance>(type);
  auto& instance = result.as<Instance>();
  const auto& defaults = type.as<StructType>().defaults;
  instance.fields.reserve(defaults.size());
  for (const auto& value : defaults) {
    if (!value) {
      instance.fields.push_back(Value::unset());
    } else if (value->is(Tag::List)) {  // each instance has its own
      instance.fields.push_back(make<List>(value->as<List>().items));
    } else if (value->is(Tag::Dict)) {
      instance.fields.push_back(make<Dict>());
      for (const Dict::Entry& entry : value->as<Dict>().entries()) {
        if (entry.live) instance.fields.back().as<Dict>().set(entry.key, entry.value);
      }
    } else {
      instance.fields.push_back(*value);
    }
  }
  return result;
}

void bind_fields(const StructType& type, Arguments& arguments, Instance& instance) {
  std::vector<Slot> slots;
  for (const std::string& field : type.fields) slots.push_back({field, Slot::Kind::Normal});
  std::vector<Value> out(slots.size());
  distribute(type.name, slots, arguments, out.data());
  std::vector<std::string_view> absent;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!out[i].is_unset()) {
      instance.fields[i].take(out[i]);
    } else if (instance.fields[i].is_unset()) {
      absent.push_back(slots[i].name);
    }
  }
  if (!absent.empty()) missing(type.name, absent);
}

Value call_native_with(Interpreter& interpreter, const Native& native, Arguments& arguments) {
  if (native.unbound) return native.unbound(interpreter, native, arguments.positional, arguments.named);
  std::vector<Value> bound = bind_native(native, arguments);
  return native.call(interpreter, bound);
}

}  // namespace kiln::interp
