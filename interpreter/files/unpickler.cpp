#include "interpreter/files/unpickler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/values/objects.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

using Kind = Pickled::Kind;

constexpr int kMostDepth = 100;  // of tuples within tuples, which are made values by recursion
constexpr std::uint64_t kNewestProtocol = 5;

[[noreturn]] void broken(std::string_view what) {
  throw DamagedFile(fmt::format("its pickle is damaged: {}", what));
}

double big_double(MemorySource& source) { return std::bit_cast<double>(source.big<std::uint64_t>()); }

}  // namespace

Value value_of(const Pickled& item) {
  switch (item.kind) {
    case Kind::Plain:
      return item.value;
    case Kind::Tuple: {
      std::vector<Value> items;
      for (const Pickled& each : *item.items) items.push_back(value_of(each));
      return make<Tuple>(std::move(items));
    }
    case Kind::Global:
      throw DamagedFile(fmt::format("it holds the class or function {} as a value", item.text));
    case Kind::Own:
      throw DamagedFile("it holds the memory of a tensor as a value");
    case Kind::Mark:
      break;
  }
  broken("a value is missing");
}

void Unpickler::push(Value value) {
  Pickled item;
  item.value = std::move(value);
  stack_.push_back(std::move(item));
}

void Unpickler::push_text(std::uint64_t bytes) {
  if (bytes > source_.most_left()) broken("a text ends early");
  push(Value(std::string(source_.view(static_cast<std::size_t>(bytes)))));
}

void Unpickler::push_tuple(std::vector<Pickled> items) {
  Pickled item;
  item.kind = Kind::Tuple;
  for (const Pickled& each : items) item.depth = std::max(item.depth, each.depth + 1);
  if (item.depth > kMostDepth)
    throw DamagedFile(fmt::format("it nests tuples more than {} deep", kMostDepth));
  item.items = std::make_shared<std::vector<Pickled>>(std::move(items));
  stack_.push_back(std::move(item));
}

Pickled Unpickler::pop() {
  if (stack_.empty() || stack_.back().kind == Kind::Mark) broken("a value is missing");
  Pickled item = std::move(stack_.back());
  stack_.pop_back();
  return item;
}
Value Unpickler::pop_value() { return value_of(pop()); }

std::vector<Pickled> Unpickler::pop_to_mark() {
  std::vector<Pickled> items;
  while (!stack_.empty() && stack_.back().kind != Kind::Mark) {
    items.push_back(std::move(stack_.back()));
    stack_.pop_back();
  }
  if (stack_.empty()) broken("a mark is missing");
  stack_.pop_back();
  return {std::make_move_iterator(items.rbegin()), std::make_move_iterator(items.rend())};
}

Value& Unpickler::top_value() {
  if (stack_.empty() || stack_.back().kind != Kind::Plain) broken("a container is missing");
  return stack_.back().value;
}

void Unpickler::set_items(std::vector<Pickled> items) {
  if (!top_value().is(Tag::Dict) || items.size() % 2 != 0) broken("a key has no dict, or no value");
  auto& dict = top_value().as<Dict>();
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Value key = value_of(items[i]);
    const bool may_be_key =
        key.is(Tag::Str) || key.is(Tag::Int) || key.is(Tag::Float) || key.is(Tag::Bool) || key.is_none();
    if (!may_be_key) throw DamagedFile("a key of a dict is neither a text nor a number");
    dict.set(key, value_of(items[i + 1]));
  }
}

void Unpickler::append(std::vector<Pickled> items) {
  if (!top_value().is(Tag::List)) broken("an item has no list");
  auto& list = top_value().as<List>();
  for (const Pickled& each : items) list.items.push_back(value_of(each));
}

void Unpickler::global(const std::string& module, const std::string& name) {
  Pickled item;
  item.kind = Kind::Global;
  item.text = module + "." + name;
  if (!meaning_.knows(item.text)) {
    throw DamagedFile(
        fmt::format(
            "it needs {}, and only tensors in dicts, lists and tuples are read, with numbers and texts",
            item.text),
        "in Python, save the tensors alone: torch.save(model.state_dict(), path)");
  }
  stack_.push_back(std::move(item));
}

void Unpickler::memoize(std::uint64_t number) {
  if (stack_.empty()) broken("nothing is there to be remembered");
  memo_[number] = stack_.back();
}
void Unpickler::recall(std::uint64_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) broken("something is recalled that was not remembered");
  stack_.push_back(found->second);
}

std::string Unpickler::line() {
  std::string text;
  for (char c = 0; (c = static_cast<char>(source_.byte())) != '\n';) text += c;
  return text;
}

// An integer in two's complement of so many bytes.
std::int64_t Unpickler::long_int(std::uint64_t bytes) {
  if (bytes > 8) throw DamagedFile("it holds an int of more than 64 bits");
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) value |= std::uint64_t{source_.byte()} << (8 * i);
  if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1U) != 0)
    value |= ~std::uint64_t{0} << (8 * bytes);
  return static_cast<std::int64_t>(value);
}

bool Unpickler::number(std::uint8_t code) {
  switch (code) {
    case 'N':
      return push({}), true;
    case 0x88:
      return push(true), true;
    case 0x89:
      return push(false), true;
    case 'J':
      return push(std::int64_t{static_cast<std::int32_t>(source_.little<std::uint32_t>())}), true;
    case 'K':
      return push(std::int64_t{source_.byte()}), true;
    case 'M':
      return push(std::int64_t{source_.little<std::uint16_t>()}), true;
    case 0x8a:
      return push(long_int(source_.byte())), true;
    case 0x8b:
      return push(long_int(source_.little<std::uint32_t>())), true;
    case 'G':
      return push(big_double(source_)), true;
    default:
      return false;
  }
}

bool Unpickler::text(std::uint8_t code) {
  switch (code) {
    case 'X':
      return push_text(source_.little<std::uint32_t>()), true;
    case 0x8c:
      return push_text(source_.byte()), true;
    case 0x8d:
      return push_text(source_.little<std::uint64_t>()), true;
    default:
      return false;
  }
}

bool Unpickler::container(std::uint8_t code) {
  switch (code) {
    case '(':
      stack_.emplace_back().kind = Kind::Mark;
      return true;
    case '}':
      return push(Value(static_cast<Object*>(new Dict()))), true;
    case ']':
      return push(make<List>(std::vector<Value>())), true;
    case ')':
      return push_tuple({}), true;
    case 't':
      return push_tuple(pop_to_mark()), true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<Pickled> items(code - 0x84U);
      for (std::size_t i = items.size(); i-- > 0;) items[i] = pop();
      return push_tuple(std::move(items)), true;
    }
    case 's': {
      std::vector<Pickled> items(2);
      items[1] = pop();
      items[0] = pop();
      return set_items(std::move(items)), true;
    }
    case 'u':
      return set_items(pop_to_mark()), true;
    case 'a': {
      Pickled item = pop();
      return append({std::move(item)}), true;
    }
    case 'e':
      return append(pop_to_mark()), true;
    default:
      return false;
  }
}

bool Unpickler::keep(std::uint8_t code) {
  switch (code) {
    case 'q':
      return memoize(source_.byte()), true;
    case 'r':
      return memoize(source_.little<std::uint32_t>()), true;
    case 0x94:
      return memoize(memo_.size()), true;
    case 'h':
      return recall(source_.byte()), true;
    case 'j':
      return recall(source_.little<std::uint32_t>()), true;
    case '0':
      return static_cast<void>(pop()), true;
    case '1':
      return static_cast<void>(pop_to_mark()), true;
    case '2': {
      Pickled item = pop();
      stack_.push_back(item);
      stack_.push_back(std::move(item));
      return true;
    }
    default:
      return false;
  }
}

bool Unpickler::call(std::uint8_t code) {
  switch (code) {
    case 'c': {
      const std::string module = line();
      return global(module, line()), true;
    }
    case 0x93: {
      const Value name = pop_value(), module = pop_value();
      if (!name.is(Tag::Str) || !module.is(Tag::Str)) broken("a global has no name");
      return global(module.as<Str>().text, name.as<Str>().text), true;
    }
    case 'R':
    case 0x81: {
      const Pickled arguments = pop(), function = pop();
      if (function.kind != Kind::Global || arguments.kind != Kind::Tuple) broken("a call has no function");
      stack_.push_back(meaning_.call(function.text, *arguments.items));
      return true;
    }
    case 'Q': {
      const Pickled name = pop();
      if (name.kind != Kind::Tuple) broken("a persistent name is no tuple");
      Pickled item;
      item.kind = Kind::Own;
      item.own = meaning_.persistent(*name.items);
      stack_.push_back(std::move(item));
      return true;
    }
    case 'b':  // what an OrderedDict has beside its items: notes of the module
      static_cast<void>(pop());
      if (!top_value().is(Tag::Dict)) broken("a state has no dict");
      return true;
    default:
      return false;
  }
}

Value Unpickler::run() {
  while (true) {
    kiln::check_interrupt();
    const std::uint8_t code = source_.byte();
    if (code == '.') break;
    if (code == 0x80) {
      const std::uint8_t protocol = source_.byte();
      if (protocol > kNewestProtocol) throw DamagedFile(fmt::format("its pickle has protocol {}", protocol));
    } else if (code == 0x95) {
      source_.view(8);  // how long a frame is
    } else if (!number(code) && !text(code) && !container(code) && !keep(code) && !call(code)) {
      broken(fmt::format("it has the instruction {:#04x}", code));
    }
  }
  Value result = pop_value();
  if (!stack_.empty()) broken("values are left over");
  source_.expect_end();
  return result;
}

}  // namespace kiln::interp::files
