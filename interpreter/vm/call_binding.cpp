#include <algorithm>
#include <utility>

#include "interpreter/values/sets.h"
#include "interpreter/vm/call.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/impl.h"
#include "tensor/how_many.h"

namespace kiln::interp {
namespace {

using lang::Parameter;

// What the binding needs to know of a parameter, of whatever kind of callee.
struct Slot {
  std::string_view name;
  enum class Kind : std::uint8_t { Normal, KeywordOnly, Star, DoubleStar } kind;
  bool is_optional = false;
};

// For messages: what is called, and what its parameters are.
struct Callee {
  std::string_view name;
  std::span<const Slot> slots;
  std::string_view what = "parameter";  // of a struct they are fields

  // A receiver was not written as an argument.
  bool has_receiver() const { return !slots.empty() && slots.front().name == "self"; }
  std::string signature() const {
    std::string text;
    bool only_names = false;
    for (const Slot& slot : slots.subspan(has_receiver() ? 1 : 0)) {
      if (!text.empty()) text += ", ";
      if (slot.kind == Slot::Kind::KeywordOnly && !std::exchange(only_names, true) && !has_star())
        text += "*, ";
      if (slot.kind == Slot::Kind::Star) text += "*";
      if (slot.kind == Slot::Kind::DoubleStar) text += "**";
      text += slot.name;
      const bool is_one = slot.kind == Slot::Kind::Normal || slot.kind == Slot::Kind::KeywordOnly;
      if (slot.is_optional && is_one) text += " = …";
    }
    // A struct is made by its name.
    constexpr std::string_view kInit = ".init";
    const std::string_view called = name.ends_with(kInit) ? name.substr(0, name.size() - kInit.size()) : name;
    return quoted(std::string(called) + "(" + text + ")");
  }

 private:
  bool has_star() const {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& s) { return s.kind == Slot::Kind::Star; });
  }
};

[[noreturn]] void refuse(std::string message, std::string help, std::string name, std::size_t surplus = 0) {
  lang::Diagnostic diagnostic;
  diagnostic.kind = "TypeError";
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  throw ArgumentError(std::move(diagnostic), std::move(name), surplus);
}

[[noreturn]] void too_many(const Callee& callee, std::size_t most, std::size_t given) {
  const std::size_t receivers = callee.has_receiver() ? 1 : 0;
  const std::size_t allowed = most - receivers;
  const std::string limit = allowed == 0 ? "no arguments" : "at most " + how_many(allowed, "argument");
  const bool by_position = std::any_of(callee.slots.begin(), callee.slots.end(),
                                       [](const Slot& s) { return s.kind == Slot::Kind::KeywordOnly; });
  // The instance that a method was called on, where the method has no parameter for it.
  const std::size_t dot = callee.name.rfind('.');
  const bool lacks_self = callee.what == "parameter" && !callee.has_receiver() && callee.slots.empty() &&
                          dot != std::string_view::npos && given == 1;
  refuse(quoted(callee.name) + " takes " + limit + (by_position ? " by position, got " : ", got ") +
             std::to_string(given - receivers),
         lacks_self ? "a method takes its instance first: `fn " + std::string(callee.name.substr(dot + 1)) +
                          "(self)`"
                    : "it is called as " + callee.signature(),
         "", given - most);
}

[[noreturn]] void unknown_name(const Callee& callee, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Slot& slot : callee.slots) {
    if (slot.kind == Slot::Kind::Normal || slot.kind == Slot::Kind::KeywordOnly) names.push_back(slot.name);
  }
  const auto near = lang::nearest(name, names);
  refuse(quoted(callee.name) + " has no " + std::string(callee.what) + " " + quoted(name),
         near.empty() ? "it is called as " + callee.signature() : "did you mean `" + std::string(near) + "`?",
         std::string(name));
}

[[noreturn]] void given_twice(const Callee& callee, std::string_view name) {
  refuse(quoted(callee.name) + " got " + quoted(name) + " twice", "", std::string(name));
}

[[noreturn]] void missing(const Callee& callee, std::span<const std::string_view> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quoted(names[i]);
  }
  raise("TypeError",
        quoted(callee.name) + " needs " + list + (names.size() == 1 ? ", which was" : ", which were") +
            " not given",
        "it is called as " + callee.signature());
}

// Distributes the arguments; what got none is left unset.
void distribute(const Callee& callee, Arguments& arguments, Value* out) {
  const std::span<const Slot> slots = callee.slots;
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
      if (!target.is_unset()) given_twice(callee, name);
      target.take(value);
    } else if (double_star) {
      if (others.as<Dict>().find(name)) given_twice(callee, name);
      others.as<Dict>().set(Value(name), value);
    } else {
      unknown_name(callee, name);
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
    slots.push_back({p.name, kind, p.has_default});
  }
  return slots;
}

}  // namespace

void bind_function(const Function& function, Arguments& arguments, Value* out) {
  const Code& code = *function.code;
  const std::vector<Slot> slots = slots_of(code);
  const Callee callee{code.name.empty() ? "fn" : std::string_view(code.name), slots};
  distribute(callee, arguments, out);
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
    slots.push_back({p.name, static_cast<Slot::Kind>(p.kind), !p.required});
  const Callee callee{native.name, slots};
  std::vector<Value> out(slots.size());
  distribute(callee, arguments, out.data());
  std::vector<std::string_view> absent;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!out[i].is_unset()) continue;
    if (native.parameters[i].required) absent.push_back(slots[i].name);
    out[i] = native.parameters[i].default_value;
  }
  if (!absent.empty()) missing(callee, absent);
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
    } else if (value->is(Tag::Set)) {
      instance.fields.push_back(copy_of(value->as<Set>()));
    } else {
      instance.fields.push_back(*value);
    }
  }
  return result;
}

void bind_fields(const StructType& type, Arguments& arguments, Instance& instance) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < type.fields.size(); ++i)
    slots.push_back({type.fields[i], Slot::Kind::Normal, type.defaults[i].has_value()});
  const Callee callee{type.name, slots, "field"};
  std::vector<Value> out(slots.size());
  distribute(callee, arguments, out.data());
  std::vector<std::string_view> absent;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!out[i].is_unset()) {
      instance.fields[i].take(out[i]);
    } else if (instance.fields[i].is_unset()) {
      absent.push_back(slots[i].name);
    }
  }
  if (!absent.empty()) missing(callee, absent);
}

Value call_native_with(Interpreter& interpreter, const Native& native, Arguments& arguments) {
  if (Watcher* const watcher = interpreter.impl().vm.watcher())
    watcher->enters(native, arguments.positional, arguments.named);
  if (native.unbound) return native.unbound(interpreter, native, arguments.positional, arguments.named);
  std::vector<Value> bound = bind_native(native, arguments);
  return native.call(interpreter, bound);
}

}  // namespace kiln::interp
