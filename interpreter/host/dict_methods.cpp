// Methods of dicts.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using namespace host;

Dict& dict(std::span<Value> arguments) { return arguments[0].as<Dict>(); }

template <class F>
Value listed(std::span<Value> arguments, F item) {
  std::vector<Value> items;
  items.reserve(dict(arguments).size());
  for (const auto& entry : dict(arguments).entries()) {
    check_interrupt();
    if (entry.live) items.push_back(item(entry));
  }
  return list_value(std::move(items));
}

Value keys(Interpreter&, std::span<Value> arguments) {
  return listed(arguments, [](const auto& entry) { return entry.key; });
}

Value values(Interpreter&, std::span<Value> arguments) {
  return listed(arguments, [](const auto& entry) { return entry.value; });
}

Value items(Interpreter&, std::span<Value> arguments) {
  return listed(arguments, [](const auto& entry) { return tuple_value({entry.key, entry.value}); });
}

Value get(Interpreter&, std::span<Value> arguments) {
  const Value* found = dict(arguments).find(arguments[1]);
  return found ? *found : arguments[2];
}

[[noreturn]] void no_key(Interpreter& interpreter, Dict& d, const Value& key) {
  std::vector<std::string_view> names;
  for (const auto& entry : d.entries()) {
    if (entry.live && entry.key.is(Tag::Str)) names.push_back(text_of(entry.key));
  }
  const std::string_view near = key.is(Tag::Str) ? lang::nearest(text_of(key), names) : std::string_view{};
  raise("KeyError", fmt::format("there is no key {}", repr_of(interpreter, key)),
        near.empty() ? "" : fmt::format("did you mean {}?", repr_of(near)));
}

Value pop(Interpreter& interpreter, std::span<Value> arguments) {
  Dict& d = dict(arguments);
  if (const Value* found = d.find(arguments[1])) {
    Value value = *found;
    d.erase(arguments[1]);
    return value;
  }
  const auto& rest = arguments[2].as<Tuple>().items;
  if (rest.empty()) no_key(interpreter, d, arguments[1]);
  return rest.front();
}

Value update(Interpreter& interpreter, std::span<Value> arguments) {
  for (const Value& from : arguments[1].as<Tuple>().items) update_dict(interpreter, dict(arguments), from);
  update_dict(interpreter, dict(arguments), arguments[2]);
  return {};
}

Value setdefault(Interpreter&, std::span<Value> arguments) {
  if (const Value* found = dict(arguments).find(arguments[1])) return *found;
  dict(arguments).set(arguments[1], arguments[2]);
  return arguments[2];
}

Value copy(Interpreter&, std::span<Value> arguments) {
  auto* made = new Dict();
  Value result{static_cast<Object*>(made)};
  for (const auto& entry : dict(arguments).entries()) {
    check_interrupt();
    if (entry.live) made->set(entry.key, entry.value);
  }
  return result;
}

Value clear(Interpreter&, std::span<Value> arguments) {
  dict(arguments).clear();
  return {};
}

constexpr NativeDef kDict[] = {
    {"keys(self) -> list", "The keys, in order of insertion, as a list.", keys},
    {"values(self) -> list", "The values, in order of insertion, as a list.", values},
    {"items(self) -> list", "The (key, value) pairs, in order of insertion, as a list.", items},
    {"get(self, key, default=none)", "The value of a key, or the default when it is absent.", get},
    {"pop(self, key, *default)", "Takes out a key and gives its value, or the default when it is absent.",
     pop},
    {"update(self, *others, **named)", "Adds the entries of other dicts, replacing those of equal keys.",
     update},
    {"setdefault(self, key, default=none)",
     "The value of a key, which is set to the default first when absent.", setdefault},
    {"copy(self) -> dict", "A new dict of the same entries.", copy},
    {"clear(self)", "Takes out all entries.", clear},
};

}  // namespace

namespace {

void set_all(Dict& target, const std::vector<Dict::Entry>& entries) {
  for (const auto& entry : entries) {
    check_interrupt();
    if (entry.live) target.set(entry.key, entry.value);
  }
}

// Whole or not at all: what takes long is done to a copy first, which Ctrl-C may cut.
void update_by_dict(Dict& target, const Dict& from) {
  const std::vector<Dict::Entry> entries = from.entries();
  if (entries.size() < kPieceOfValues) {
    const HeldInterrupts whole;
    return set_all(target, entries);
  }
  const Value made = make<Dict>();
  auto& updated = made.as<Dict>();
  set_all(updated, target.entries());
  set_all(updated, entries);
  target.exchange(updated);
}

}  // namespace

namespace host {

void update_dict(Interpreter& interpreter, Dict& target, const Value& from) {
  if (from.is(Tag::Dict)) return update_by_dict(target, from.as<Dict>());
  std::int64_t i = 0;
  interpreter.iterate(from, [&](const Value& pair) {
    const auto* items = items_of(pair);
    if (!items || items->size() != 2) {
      raise("TypeError", fmt::format("item {} must be a pair of key and value, got {}", i, describe(pair)));
    }
    target.set((*items)[0], (*items)[1]);
    ++i;
    return true;
  });
}

}  // namespace host

std::span<const NativeDef> dict_methods() { return kDict; }

}  // namespace kiln::interp
