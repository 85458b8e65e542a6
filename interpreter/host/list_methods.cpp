// Methods of lists and tuples.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using namespace host;

std::vector<Value>& list(std::span<Value> arguments) { return arguments[0].as<List>().items; }

// An index counted from the end if negative, moved into [0, size].
std::size_t clamped(std::int64_t index, std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < 0) index += n;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, n));
}

// Values may be moved as bytes: what they refer to does not know where they are. Moving all that follow one
// by one takes ten times as long.
void move_bytes(Value* to, const Value* from, std::size_t count) {
  std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(Value));
}

Value take_out(std::vector<Value>& items, std::size_t at) {
  Value item = std::move(items[at]);
  move_bytes(&items[at], &items[at] + 1, items.size() - at - 1);
  new (&items.back()) Value();
  items.pop_back();
  return item;
}

void put_in(std::vector<Value>& items, std::size_t at, Value item) {
  items.emplace_back();
  move_bytes(&items[at] + 1, &items[at], items.size() - at - 1);
  new (&items[at]) Value(std::move(item));
}

Value append(Interpreter&, std::span<Value> arguments) {
  list(arguments).push_back(std::move(arguments[1]));
  return {};
}

Value extend(Interpreter& interpreter, std::span<Value> arguments) {
  std::vector<Value> more = interpreter.to_vector(arguments[1]);
  auto& items = list(arguments);
  items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return {};
}

Value insert(Interpreter&, std::span<Value> arguments) {
  auto& items = list(arguments);
  const std::size_t at = clamped(int_argument(arguments[1], "index"), items.size());
  put_in(items, at, arguments[2]);
  return {};
}

Value pop(Interpreter&, std::span<Value> arguments) {
  auto& items = list(arguments);
  const std::int64_t given = int_argument(arguments[1], "index");
  const auto n = static_cast<std::int64_t>(items.size());
  const std::int64_t index = given < 0 ? given + n : given;
  if (n == 0) raise("IndexError", "pop: the list is empty");
  if (index < 0 || index >= n)
    raise("IndexError", fmt::format("pop: index {} is out of range for a list of {}", given, n));
  return take_out(items, static_cast<std::size_t>(index));
}

// First place in [from, to) whose item equals x; -1 when there is none.
std::ptrdiff_t place_of(const std::vector<Value>& items, const Value& x, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, items.size()); ++i) {
    check_interrupt();
    if (identical(items[i], x) || values_equal(items[i], x)) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

Value remove(Interpreter& interpreter, std::span<Value> arguments) {
  auto& items = list(arguments);
  const std::ptrdiff_t at = place_of(items, arguments[1], 0, items.size());
  if (at < 0)
    raise("ValueError", fmt::format("remove: {} is not in the list", repr_of(interpreter, arguments[1])));
  take_out(items, static_cast<std::size_t>(at));
  return {};
}

Value index(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& items = *items_of(arguments[0]);
  const std::size_t from = clamped(int_argument(arguments[2], "start"), items.size());
  const std::size_t to =
      arguments[3].is_none() ? items.size() : clamped(int_argument(arguments[3], "stop"), items.size());
  const std::ptrdiff_t at = place_of(items, arguments[1], from, to);
  if (at < 0) {
    raise("ValueError", fmt::format("index: {} is not in the {}", repr_of(interpreter, arguments[1]),
                                    type_name(arguments[0])));
  }
  return static_cast<std::int64_t>(at);
}

Value count(Interpreter&, std::span<Value> arguments) {
  const auto& items = *items_of(arguments[0]);
  return static_cast<std::int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    check_interrupt();
    return identical(item, arguments[1]) || values_equal(item, arguments[1]);
  }));
}

Value reverse(Interpreter&, std::span<Value> arguments) {
  std::reverse(list(arguments).begin(), list(arguments).end());
  return {};
}

// The list is empty while keys are computed, so that a key function that changes it does no harm.
Value sort(Interpreter& interpreter, std::span<Value> arguments) {
  std::vector<Value> items = std::exchange(list(arguments), {});
  try {
    sort_values(interpreter, items, arguments[1], bool_argument(arguments[2], "reverse"));
    list(arguments) = std::move(items);
  } catch (...) {
    list(arguments) = std::move(items);
    throw;
  }
  return {};
}

Value copy(Interpreter&, std::span<Value> arguments) { return list_value(list(arguments)); }

Value clear(Interpreter&, std::span<Value> arguments) {
  std::vector<Value> gone = std::exchange(list(arguments), {});
  return {};
}

constexpr NativeDef kIndex = {"index(self, x, start=0, stop=none)",
                              "The first place of x; a ValueError when it is absent.", index};
constexpr NativeDef kCount = {"count(self, x)", "How many items equal x.", count};

constexpr NativeDef kList[] = {
    {"append(self, x)", "Adds x at the end.", append},
    {"extend(self, xs)", "Adds the items of an iterable at the end.", extend},
    {"insert(self, index, x)", "Puts x before the item at the index.", insert},
    {"pop(self, index=-1)", "Takes out the item at the index, the last by default, and gives it.", pop},
    {"remove(self, x)", "Takes out the first item that equals x.", remove},
    kIndex,
    kCount,
    {"reverse(self)", "Turns the list around.", reverse},
    {"sort(self, key=none, reverse=false)",
     "Sorts in place, by the key of each item if given; equal items keep their order.", sort},
    {"copy(self) -> list", "A new list of the same items.", copy},
    {"clear(self)", "Takes out all items.", clear},
};
constexpr NativeDef kTuple[] = {kIndex, kCount};

}  // namespace

std::span<const NativeDef> list_methods() { return kList; }
std::span<const NativeDef> tuple_methods() { return kTuple; }

}  // namespace kiln::interp
