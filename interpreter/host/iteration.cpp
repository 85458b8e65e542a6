// Iterators: over any iterable, and the functions that make new ones.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/text_file.h"
#include "interpreter/values/native_stack.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using namespace host;

// `next(held..., interpreter, item)` gives the next item, or false.
template <class F, class... Held>
Value iterator(std::string name, F next, Held&&... held) {
  return make<Iterator>(std::move(name), holding(next, std::forward<Held>(held)...));
}

// Iterators of iterators nest as deep as the program makes them.
bool advance(Interpreter& interpreter, const Value& it, Value& out) {
  check_native_stack("iterators are nested too deeply");
  return it.as<Iterator>().next(interpreter, out);
}

// Items of a list may come and go while it is iterated: the index decides.
Value over_items(const Value& xs) {
  const auto next = [](const Value& held, std::size_t& i, Interpreter&, Value& out) {
    const auto& items = *items_of(held);
    if (i >= items.size()) return false;
    out = items[i++];
    return true;
  };
  return iterator(std::string(type_name(xs)), next, xs, std::size_t{0});
}

Value over_text(const Value& text) {
  const auto next = [](const Value& held, std::size_t& at, Interpreter&, Value& out) {
    const std::string_view view = text_of(held);
    if (at >= view.size()) return false;
    const std::size_t bytes = code_point_bytes(view, at);
    out = Value(view.substr(at, bytes));
    at += bytes;
    return true;
  };
  return iterator("str", next, text, std::size_t{0});
}

Value over_keys(const Value& dict) {
  const auto next = [](const Value& held, std::size_t size, std::size_t& i, Interpreter&, Value& out) {
    const auto& d = held.as<Dict>();
    if (d.size() != size) {
      raise("ValueError",
            fmt::format("the {} changed its size while it was iterated", std::string(type_name(held))));
    }
    while (i < d.entries().size() && !d.entries()[i].live) ++i;
    if (i >= d.entries().size()) return false;
    out = d.entries()[i++].key;
    return true;
  };
  return iterator(std::string(type_name(dict)), next, dict, dict.as<Dict>().size(),
                  dict.as<Dict>().first_live());
}

Value over_range(const Value& range) {
  const auto& r = range.as<Range>();
  const auto next = [](std::int64_t& at, std::int64_t step, std::int64_t& left, Interpreter&, Value& out) {
    if (left <= 0) return false;
    out = at;
    if (--left > 0) at += step;
    return true;
  };
  return iterator("range", next, r.start, r.step, r.iterations());
}

Value over_tensor(const Value& value) {
  const kiln::Tensor x = value.as_tensor();
  if (x.rank() == 0) raise("TypeError", "a 0-d tensor cannot be iterated", "use `item()` for its value");
  const auto next = [](const kiln::Tensor& held, kiln::Dim& i, Interpreter&, Value& out) {
    if (i >= held.size(0)) return false;
    out = Value(kiln::ops::select(held, 0, i++));
    return true;
  };
  return iterator("tensor", next, x, kiln::Dim{0});
}

Value over_file(const Value& file) {
  const auto next = [](const Value& held, Interpreter&, Value& out) {
    std::string line;
    if (!read_line(held.as<File>(), line)) return false;
    out = Value(line);
    return true;
  };
  return iterator("file", next, file);
}

// `next` of an instance ends with none; `iter` gives another iterable.
Value over_instance(Interpreter& interpreter, const Value& instance) {
  const StructType& type = instance.as<Instance>().struct_type();
  if (const Value* method = type.method("iter"))
    return make_iterator(interpreter, interpreter.call(*method, {instance}));
  if (const Value* method = type.method("next")) {
    const auto next = [](const Value& held, const Value& ask, Interpreter& own, Value& out) {
      out = own.call(ask, {held});
      return !out.is_none();
    };
    return iterator(type.name, next, instance, *method);
  }
  raise("TypeError", fmt::format("{} cannot be iterated", type.name),
        "give the struct a method `iter` or `next`");
}

Value enumerate(Interpreter& interpreter, std::span<Value> arguments) {
  const auto next = [](const Value& it, std::int64_t start, std::int64_t& i, Interpreter& own, Value& out) {
    Value item;
    if (!advance(own, it, item)) return false;
    std::int64_t number = 0;
    if (__builtin_add_overflow(start, i++, &number))
      raise("OverflowError",
            fmt::format("enumerate: the number after {} does not fit in a 64-bit int", INT64_MAX));
    out = tuple_value({Value(number), std::move(item)});
    return true;
  };
  return iterator("enumerate", next, make_iterator(interpreter, arguments[0]),
                  int_argument(arguments[1], "start"), std::int64_t{0});
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
  const auto next = [](const std::vector<Value>& all, bool strict, Interpreter& own, Value& out) {
    if (all.empty()) return false;
    std::vector<Value> items;
    if (!advance_all(own, all, strict, items)) return false;
    out = tuple_value(std::move(items));
    return true;
  };
  return iterator("zip", next, iterators(interpreter, arguments[0].as<Tuple>().items),
                  bool_argument(arguments[1], "strict"));
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
  return iterator("map", next, arguments[0], iterators(interpreter, iterables));
}

Value filter(Interpreter& interpreter, std::span<Value> arguments) {
  const auto next = [](const Value& f, const Value& it, Interpreter& own, Value& out) {
    while (advance(own, it, out)) {
      if (own.truth(f.is_none() ? out : own.call(f, {out}))) return true;
    }
    return false;
  };
  return iterator("filter", next, arguments[0], make_iterator(interpreter, arguments[1]));
}

Value reversed(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& xs = arguments[0];
  if (xs.is(Tag::Range)) {
    const auto& r = xs.as<Range>();
    const std::int64_t last = r.size() == 0 ? r.start : r.item(r.size() - 1);
    // The smallest step has no opposite.
    const auto next = [](std::int64_t& at, std::int64_t step, std::int64_t& left, Interpreter&, Value& out) {
      if (left <= 0) return false;
      out = at;
      if (--left > 0) at -= step;
      return true;
    };
    return iterator("reversed", next, last, r.step, r.iterations());
  }
  if (items_of(xs) != nullptr) {
    const auto next = [](const Value& held, std::size_t& left, Interpreter&, Value& out) {
      const auto& items = *items_of(held);
      if (left == 0 || left > items.size()) return false;
      out = items[--left];
      return true;
    };
    return iterator("reversed", next, xs, items_of(xs)->size());
  }
  std::vector<Value> items = interpreter.to_vector(xs);
  std::reverse(items.begin(), items.end());
  return over_items(list_value(std::move(items)));
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
  return iterator("calls", next, arguments[0], rest.front());
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

constexpr NativeDef kNatives[] = {
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

Value make_iterator(Interpreter& interpreter, const Value& iterable) {
  switch (iterable.tag()) {
    case Tag::Iterator:
      return iterable;
    case Tag::List:
    case Tag::Tuple:
      return over_items(iterable);
    case Tag::Str:
      return over_text(iterable);
    case Tag::Dict:
    case Tag::Set:
      return over_keys(iterable);
    case Tag::Range:
      return over_range(iterable);
    case Tag::Tensor:
      return over_tensor(iterable);
    case Tag::File:
      return over_file(iterable);
    case Tag::Instance:
      return over_instance(interpreter, iterable);
    case Tag::Opaque:
      for (const auto& [name, method] : iterable.as<Opaque>().methods) {
        if (name == "iter") return make_iterator(interpreter, interpreter.call(method, {iterable}));
      }
      [[fallthrough]];
    default:
      raise("TypeError", fmt::format("{} cannot be iterated", describe(iterable)),
            iterable.is(Tag::Int) ? "the ints below n are `range(n)`" : help_with_none(iterable));
  }
}

std::span<const NativeDef> iteration_natives() { return kNatives; }

}  // namespace kiln::interp
