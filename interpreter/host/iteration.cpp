// Functions that make iterators of others.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/opaque_iterator.h"
#include "interpreter/values/iterators.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;

Value enumerate(Interpreter& interpreter, std::span<Value> arguments) {
  std::vector<Value> parts{make_iterator(interpreter, arguments[0]), int_argument(arguments[1], "start"),
                           std::int64_t{0}};
  return iterator_of(IteratorForm::Enumerate, std::move(parts));
}

std::vector<Value> iterators(Interpreter& interpreter, const std::vector<Value>& iterables) {
  std::vector<Value> all;
  for (const Value& x : iterables) all.push_back(make_iterator(interpreter, x));
  return all;
}

// The next item of each; false as soon as one has none. With `strict` all must end together.
bool advance_all(Interpreter& interpreter, const std::vector<Value>& all, bool strict,
                 std::vector<Value>& items) {
  items.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (advance(interpreter, all[i], items[i])) continue;
    Value rest;
    for (std::size_t k = i + 1; strict && i == 0 && k < all.size(); ++k) {
      if (advance(interpreter, all[k], rest))
        raise("ValueError", fmt::format("zip: item {} is longer than the first", k + 1));
    }
    if (strict && i > 0) raise("ValueError", fmt::format("zip: item {} is shorter than the first", i + 1));
    return false;
  }
  return true;
}

Value zip(Interpreter& interpreter, std::span<Value> arguments) {
  std::vector<Value> all = iterators(interpreter, arguments[0].as<Tuple>().items);
  if (!bool_argument(arguments[1], "strict") || all.empty())
    return iterator_of(IteratorForm::Zip, std::move(all));
  const auto next = [](const std::vector<Value>& held, Interpreter& own, Value& out) {
    std::vector<Value> items;
    if (!advance_all(own, held, true, items)) return false;
    out = tuple_value(std::move(items));
    return true;
  };
  return opaque_iterator("zip", next, std::move(all));
}

Value map(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& iterables = arguments[1].as<Tuple>().items;
  if (iterables.empty()) raise("TypeError", "map needs a function and at least one iterable");
  const auto next = [](const Value& f, const std::vector<Value>& all, Interpreter& own, Value& out) {
    std::vector<Value> items;
    if (!advance_all(own, all, false, items)) return false;
    out = own.call(f, std::span<const Value>(items));
    return true;
  };
  return opaque_iterator("map", next, arguments[0], iterators(interpreter, iterables));
}

Value filter(Interpreter& interpreter, std::span<Value> arguments) {
  const auto next = [](const Value& f, const Value& it, Interpreter& own, Value& out) {
    while (advance(own, it, out)) {
      if (own.truth(f.is_none() ? out : own.call(f, {out}))) return true;
    }
    return false;
  };
  return opaque_iterator("filter", next, arguments[0], make_iterator(interpreter, arguments[1]));
}

Value reversed(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& xs = arguments[0];
  if (xs.is(Tag::Range)) {
    const auto& r = xs.as<Range>();
    const std::int64_t last = r.size() == 0 ? r.start : r.item(r.size() - 1);
    // The smallest step has no opposite, and is that of two items at most.
    const auto back = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(r.step));
    return iterator_of(IteratorForm::Range, {last, r.iterations(), back});
  }
  if (items_of(xs) != nullptr) {
    const auto next = [](const Value& held, std::size_t& left, Interpreter&, Value& out) {
      const auto& items = *items_of(held);
      if (left == 0 || left > items.size()) return false;
      out = items[--left];
      return true;
    };
    return opaque_iterator("reversed", next, xs, items_of(xs)->size());
  }
  std::vector<Value> items = interpreter.to_vector(xs);
  std::reverse(items.begin(), items.end());
  return make_iterator(interpreter, list_value(std::move(items)));
}

Value sorted(Interpreter& interpreter, std::span<Value> arguments) {
  std::vector<Value> items = interpreter.to_vector(arguments[0]);
  sort_values(interpreter, items, arguments[1], bool_argument(arguments[2], "reverse"));
  return list_value(std::move(items));
}

// With a second argument the first is a function, called until it gives that value.
Value iter(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& rest = arguments[1].as<Tuple>().items;
  if (rest.empty()) return make_iterator(interpreter, arguments[0]);
  const auto next = [](const Value& f, const Value& last, Interpreter& own, Value& out) {
    out = own.call(f, {});
    return !identical(out, last) && !values_equal(out, last);
  };
  return opaque_iterator("calls", next, arguments[0], rest.front());
}

Value next(Interpreter& interpreter, std::span<Value> arguments) {
  if (!arguments[0].is(Tag::Iterator)) wrong_type("it", "an iterator (see `iter`)", arguments[0]);
  Value item;
  if (advance(interpreter, arguments[0], item)) return item;
  const auto& rest = arguments[1].as<Tuple>().items;
  if (rest.empty())
    raise("ValueError", "next: the iterator has no more items", "give a second argument to have it instead");
  return rest.front();
}

constexpr NativeDef kIterationNatives[] = {
    {"enumerate(xs, start=0)",
     "Pairs (index, item).\n>>> list(enumerate([\"a\", \"b\"]))\n[(0, 'a'), (1, 'b')]", enumerate},
    {"zip(*xs, strict=false)",
     "Tuples of the items at the same place, until the shortest ends.\n>>> list(zip([1, 2], \"ab\"))\n[(1, "
     "'a'), (2, 'b')]",
     zip},
    {"map(f, *xs)",
     "f of each item, computed when it is asked for.\n>>> list(map(x => x * x, [1, 2, 3]))\n[1, 4, 9]", map},
    {"filter(f, xs)", "The items for which f is true.\n>>> list(filter(x => x > 1, [1, 2, 3]))\n[2, 3]",
     filter},
    {"reversed(xs)", "The items from the last to the first.\n>>> list(reversed([1, 2]))\n[2, 1]", reversed},
    {"sorted(xs, key=none, reverse=false)",
     "A new list in rising order; equal items keep theirs.\n>>> sorted([\"bb\", \"a\"], key=len)\n['a', "
     "'bb']",
     sorted},
    {"iter(xs, *last)", "An iterator over xs; `iter(f, last)` calls f until it gives `last`.", iter},
    {"next(it, *default)", "The next item of an iterator, or the default when there is none.", next},
};

}  // namespace

std::span<const NativeDef> iteration_natives() { return kIterationNatives; }

}  // namespace kiln::interp
