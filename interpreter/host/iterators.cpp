// Iterators over any iterable, and how each takes its next item.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/opaque_iterator.h"
#include "interpreter/host/text_file.h"
#include "interpreter/values/iterators.h"
#include "interpreter/values/native_stack.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "tensor/functions.h"

namespace kiln::interp {
namespace {

using namespace host;

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
  return opaque_iterator(std::string(type_name(dict)), next, dict, dict.as<Dict>().size(),
                         dict.as<Dict>().first_live());
}

Value over_file(const Value& file) {
  const auto next = [](const Value& held, Interpreter&, Value& out) {
    std::string line;
    if (!read_line(held.as<File>(), line)) return false;
    out = Value(line);
    return true;
  };
  return opaque_iterator("file", next, file);
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
    return opaque_iterator(type.name, next, instance, *method);
  }
  raise("TypeError", fmt::format("{} cannot be iterated", type.name),
        "give the struct a method `iter` or `next`");
}

// ---- Steps ----

// Gives the place that a part of an iterator counts, and counts on.
std::int64_t counted(Value& part) {
  const std::int64_t now = part.as_int();
  part = now + 1;
  return now;
}

// Items of a list may come and go while it is iterated: the index decides.
bool next_item(Iterator& it, Value& out) {
  if (it.parts[0].is(Tag::Str)) return next_letter(it.parts[0].as<Str>(), it.parts[1], out);
  const auto& items = *items_of(it.parts[0]);
  if (static_cast<std::size_t>(it.parts[1].as_int()) >= items.size()) return false;
  out = items[static_cast<std::size_t>(counted(it.parts[1]))];
  return true;
}

bool next_row(Iterator& it, Value& out) {
  const kiln::Tensor x = it.parts[0].as_tensor();
  if (it.parts[1].as_int() >= x.size(0)) return false;
  out = Value(kiln::ops::select(x, 0, counted(it.parts[1])));
  return true;
}

// The number after the last may not fit; it is never used.
bool next_number(Iterator& it, Value& out) {
  const std::int64_t left = it.parts[1].as_int(), number = it.parts[0].as_int();
  if (left <= 0) return false;
  it.parts[1] = left - 1;
  it.parts[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                          static_cast<std::uint64_t>(it.parts[2].as_int()));
  out = number;
  return true;
}

bool next_numbered(Interpreter& interpreter, Iterator& it, Value& out) {
  Value item;
  if (!advance(interpreter, it.parts[0], item)) return false;
  std::int64_t number = 0;
  if (__builtin_add_overflow(it.parts[1].as_int(), counted(it.parts[2]), &number))
    raise("OverflowError",
          fmt::format("enumerate: the number after {} does not fit in a 64-bit int", INT64_MAX));
  out = tuple_value({Value(number), std::move(item)});
  return true;
}

bool next_of_each(Interpreter& interpreter, const Iterator& it, Value& out) {
  std::vector<Value> items(it.parts.size());
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (!advance(interpreter, it.parts[k], items[k])) return false;
  }
  if (items.empty()) return false;
  out = tuple_value(std::move(items));
  return true;
}

}  // namespace

bool next_letter(const Str& text, Value& place, Value& item) {
  const std::size_t at = text.byte_of(static_cast<std::size_t>(place.as_int()));
  const std::string_view bytes = text.text;
  if (at >= bytes.size()) return false;
  item = Value(bytes.substr(at, code_point_bytes(bytes, at)));
  counted(place);
  return true;
}

Value iterator_of(IteratorForm form, std::vector<Value> parts) {
  static constexpr std::string_view kNames[] = {"", "", "tensor", "range", "enumerate", "zip"};
  const std::string_view name =
      form == IteratorForm::Items ? type_name(parts[0]) : kNames[static_cast<std::size_t>(form)];
  return make<Iterator>(std::string(name), form, std::move(parts));
}

// Iterators of iterators nest as deep as the program makes them.
bool advance(Interpreter& interpreter, const Value& iterator, Value& item) {
  check_native_stack("iterators are nested too deeply");
  auto& it = iterator.as<Iterator>();
  switch (it.form) {
    case IteratorForm::Items:
      return next_item(it, item);
    case IteratorForm::Rows:
      return next_row(it, item);
    case IteratorForm::Range:
      return next_number(it, item);
    case IteratorForm::Enumerate:
      return next_numbered(interpreter, it, item);
    case IteratorForm::Zip:
      return next_of_each(interpreter, it, item);
    default:
      return it.next(interpreter, item);
  }
}

Value make_iterator(Interpreter& interpreter, const Value& iterable) {
  switch (iterable.tag()) {
    case Tag::Iterator:
      return iterable;
    case Tag::List:
    case Tag::Tuple:
    case Tag::Str:
      return iterator_of(IteratorForm::Items, {iterable, std::int64_t{0}});
    case Tag::Dict:
    case Tag::Set:
      return over_keys(iterable);
    case Tag::Range: {
      const auto& r = iterable.as<Range>();
      return iterator_of(IteratorForm::Range, {r.start, r.iterations(), r.step});
    }
    case Tag::Tensor:
      if (iterable.as_tensor().rank() == 0)
        raise("TypeError", "a 0-d tensor cannot be iterated", "use `item()` for its value");
      return iterator_of(IteratorForm::Rows, {iterable, std::int64_t{0}});
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

}  // namespace kiln::interp
