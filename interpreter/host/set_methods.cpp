// Methods of sets.
#include <string>

#include <fmt/format.h>

#include "interpreter/values/sets.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using lang::BinaryOp;

Set& set(std::span<Value> arguments) { return arguments[0].as<Set>(); }

// The items of an iterable, each once.
Value set_of(Interpreter& interpreter, const Value& iterable) {
  if (iterable.is(Tag::Set)) return iterable;
  Value made = make<Set>();
  interpreter.iterate(iterable, [&](const Value& item) {
    made.as<Set>().add(item);
    return true;
  });
  return made;
}

// The operator between the set and each of the other iterables in turn.
Value with_each(Interpreter& interpreter, std::span<Value> arguments, BinaryOp op) {
  Value result = copy_of(set(arguments));
  for (const Value& other : arguments[1].as<Tuple>().items) {
    const Value items = set_of(interpreter, other);
    result = set_operator(op, result.as<Set>(), items.as<Set>());
  }
  return result;
}

Value change_by(Interpreter& interpreter, std::span<Value> arguments, BinaryOp op) {
  const Value result = with_each(interpreter, arguments, op);
  set(arguments).exchange(result.as<Set>());
  return {};
}

template <BinaryOp op>
Value combined(Interpreter& interpreter, std::span<Value> arguments) {
  return with_each(interpreter, arguments, op);
}

template <BinaryOp op>
Value changed(Interpreter& interpreter, std::span<Value> arguments) {
  return change_by(interpreter, arguments, op);
}

Value add(Interpreter&, std::span<Value> arguments) {
  set(arguments).add(arguments[1]);
  return {};
}

Value discard(Interpreter&, std::span<Value> arguments) {
  set(arguments).erase(arguments[1]);
  return {};
}

Value remove(Interpreter& interpreter, std::span<Value> arguments) {
  if (set(arguments).erase(arguments[1])) return {};
  raise("KeyError", fmt::format("the set has no item {}", repr_of(interpreter, arguments[1])),
        "`discard` takes out an item if it is there");
}

Value pop(Interpreter&, std::span<Value> arguments) {
  Set& s = set(arguments);
  if (s.size() == 0) raise("KeyError", "pop: the set is empty");
  Value first = s.entries()[s.first_live()].key;
  s.erase(first);
  return first;
}

Value is_disjoint(Interpreter& interpreter, std::span<Value> arguments) {
  const Value other = set_of(interpreter, arguments[1]);
  return set_operator(BinaryOp::BitAnd, set(arguments), other.as<Set>()).as<Set>().size() == 0;
}

Value is_within(Interpreter& interpreter, std::span<Value> arguments) {
  return is_subset(set(arguments), set_of(interpreter, arguments[1]).as<Set>());
}

Value is_around(Interpreter& interpreter, std::span<Value> arguments) {
  return is_subset(set_of(interpreter, arguments[1]).as<Set>(), set(arguments));
}

Value copy(Interpreter&, std::span<Value> arguments) { return copy_of(set(arguments)); }

Value clear(Interpreter&, std::span<Value> arguments) {
  set(arguments).clear();
  return {};
}

constexpr NativeDef kSet[] = {
    {"add(self, item)", "Adds an item, if it is not there.", add},
    {"discard(self, item)", "Takes out an item, if it is there.", discard},
    {"remove(self, item)", "Takes out an item; KeyError when it is not there.", remove},
    {"pop(self)", "Takes out the item that was added first, and gives it.", pop},
    {"union(self, *others) -> set",
     "A new set of all items, of other iterables too.\n>>> {1}.union([2])\n{1, 2}",
     combined<BinaryOp::BitOr>},
    {"intersection(self, *others) -> set",
     "A new set of the items that are in all others.\n>>> {1, 2}.intersection([2, 3])\n{2}",
     combined<BinaryOp::BitAnd>},
    {"difference(self, *others) -> set",
     "A new set of the items that are in no other.\n>>> {1, 2}.difference([2, 3])\n{1}",
     combined<BinaryOp::Sub>},
    {"symmetric_difference(self, *others) -> set",
     "A new set of the items that are in one only.\n>>> {1, 2}.symmetric_difference([2, 3])\n{1, 3}",
     combined<BinaryOp::BitXor>},
    {"update(self, *others)", "Adds the items of other iterables.", changed<BinaryOp::BitOr>},
    {"intersection_update(self, *others)", "Keeps the items that are in all others.",
     changed<BinaryOp::BitAnd>},
    {"difference_update(self, *others)", "Takes out the items of other iterables.", changed<BinaryOp::Sub>},
    {"symmetric_difference_update(self, *others)", "Keeps the items that are in one only.",
     changed<BinaryOp::BitXor>},
    {"issubset(self, other) -> bool", "Whether all items are in the other iterable, as `<=`.", is_within},
    {"issuperset(self, other) -> bool", "Whether all items of the other iterable are here, as `>=`.",
     is_around},
    {"isdisjoint(self, other) -> bool", "Whether no item is in both.", is_disjoint},
    {"copy(self) -> set", "A new set of the same items.", copy},
    {"clear(self)", "Takes out all items.", clear},
};

}  // namespace

std::span<const NativeDef> set_methods() { return kSet; }

}  // namespace kiln::interp
