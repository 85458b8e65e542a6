// The built-in types: what `type` gives, and their constructors.
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "interpreter/host/graph_calls.h"
#include "interpreter/host/number_types.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/autograd.h"

namespace kiln::interp {
namespace {

using namespace host;

[[noreturn]] void not_an_int(const std::string& text, std::int64_t base) {
  std::string help;
  double real = 0;
  const std::string_view body = stripped(text);
  if (base == 10 &&
      std::from_chars(body.data(), body.data() + body.size(), real).ptr == body.data() + body.size() &&
      !body.empty()) {
    help = fmt::format("for a number with decimals use `int(float({}))`", repr_of(std::string_view(text)));
  }
  raise("ValueError", fmt::format("{} is not an int in base {}", repr_of(std::string_view(text)), base),
        help);
}

std::int64_t parse_int(const std::string& text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36))
    raise("ValueError", fmt::format("int: base must be 0 or 2 to 36, is {}", base));
  std::string_view body = stripped(text);
  const bool negative = !body.empty() && body.front() == '-';
  if (!body.empty() && (body.front() == '-' || body.front() == '+')) body.remove_prefix(1);
  static constexpr std::array<std::pair<std::string_view, int>, 6> kPrefixes{
      {{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8}, {"0b", 2}, {"0B", 2}}};
  std::int64_t actual = base;
  for (const auto& [prefix, value] : kPrefixes) {
    if (body.starts_with(prefix) && (base == 0 || base == value)) {
      body.remove_prefix(2);
      actual = value;
      break;
    }
  }
  if (actual == 0) actual = 10;
  const std::string digits = without_underscores(body);
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, static_cast<int>(actual));
  const bool whole = !digits.empty() && end == digits.data() + digits.size() && digits.front() != '-';
  const std::uint64_t limit = (std::uint64_t{1} << 63U) - (negative ? 0 : 1);
  if (whole && (error == std::errc::result_out_of_range || (error == std::errc() && magnitude > limit))) {
    raise("OverflowError", fmt::format("{} does not fit in a 64-bit int", stripped(text)));
  }
  if (!whole || error != std::errc()) not_an_int(text, base == 0 ? 10 : base);
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::int64_t int_of_float(double value) {
  if (std::isnan(value)) raise("ValueError", "nan is not an int");
  if (!(value > -9223372036854777856.0 && value < 9223372036854775808.0)) {
    raise("OverflowError", fmt::format("{} does not fit in a 64-bit int", repr_of(value)));
  }
  return static_cast<std::int64_t>(value);
}

Value make_int(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (!arguments[1].is_none() && !x.is(Tag::Str)) raise("TypeError", "int: a base is for text only");
  switch (x.tag()) {
    case Tag::Bool:
    case Tag::Int:
      return x.as_int();
    case Tag::Float:
      return int_of_float(x.as_float());
    case Tag::Str:
      return parse_int(text_of(x), arguments[1].is_none() ? 10 : int_argument(arguments[1], "base"));
    case Tag::Complex:
      refuse_complex_number("int");
    case Tag::Tensor: {
      const Value item = item_of(x.as_tensor());
      if (item.is(Tag::Complex)) refuse_complex_number("int");
      return item.is(Tag::Float) ? int_of_float(item.as_float()) : item.as_int();
    }
    default:
      wrong_type("x", "a number or text", x);
  }
}

Value make_float(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (x.is_number()) return x.number();
  if (x.is(Tag::Str)) return parse_float(text_of(x));
  const Value item = x.is(Tag::Tensor) ? item_of(x.as_tensor()) : x;
  if (item.is(Tag::Complex)) refuse_complex_number("float");
  if (item.is_number()) return item.number();
  wrong_type("x", "a number or text", x);
}

Value make_bool(Interpreter& interpreter, std::span<Value> arguments) {
  return interpreter.truth(arguments[0]);
}

Value make_str(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (x.is(Tag::Str)) return x;
  return make<Str>(x.is(Tag::Int) ? std::to_string(x.as_int()) : str_of(interpreter, x));
}

Value make_list(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& xs = arguments[0].as<Tuple>().items;
  if (xs.empty()) return list_value({});
  if (xs.size() > 1)
    raise("TypeError", fmt::format("list takes one iterable, got {} arguments", xs.size()), "write `[a, b]`");
  return list_value(interpreter.to_vector(xs.front()));
}

Value make_tuple(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& xs = arguments[0].as<Tuple>().items;
  if (xs.empty()) return tuple_value({});
  if (xs.size() > 1)
    raise("TypeError", fmt::format("tuple takes one iterable, got {} arguments", xs.size()),
          "write `(a, b)`");
  return tuple_value(interpreter.to_vector(xs.front()));
}

Value make_dict(Interpreter& interpreter, std::span<Value> arguments) {
  auto* dict = new Dict();
  Value result{static_cast<Object*>(dict)};
  const auto& xs = arguments[0].as<Tuple>().items;
  if (xs.size() > 1)
    raise("TypeError", fmt::format("dict takes one mapping or iterable, got {} arguments", xs.size()));
  if (!xs.empty()) update_dict(interpreter, *dict, xs.front());
  update_dict(interpreter, *dict, arguments[1]);
  return result;
}

Value make_set(Interpreter& interpreter, std::span<Value> arguments) {
  const auto& xs = arguments[0].as<Tuple>().items;
  if (xs.size() > 1) {
    raise("TypeError", fmt::format("set takes one iterable, got {} arguments", xs.size()), "write `{a, b}`");
  }
  Value made = make<Set>();
  if (xs.empty()) return made;
  if (xs.front().is(Tag::Tensor)) {
    raise("TypeError", "a set tells tensors apart by identity, so the elements of one would all be kept",
          "write `set(x.tolist())`, or `x.unique()` for a tensor");
  }
  interpreter.iterate(xs.front(), [&](const Value& item) {
    made.as<Set>().add(item);
    return true;
  });
  return made;
}

Value make_range(Interpreter&, std::span<Value> arguments) {
  const std::int64_t first = int_argument(arguments[0], "start");
  if (arguments[1].is_none()) return make<Range>(0, first, 1);
  const std::int64_t step = int_argument(arguments[2], "step");
  if (step == 0) raise("ValueError", "range: the step must not be 0");
  return make<Range>(first, int_argument(arguments[1], "stop"), step);
}

Value make_slice(Interpreter&, std::span<Value> arguments) {
  const auto& rest = arguments[1].as<Tuple>().items;
  if (rest.size() > 2) raise("TypeError", "slice takes start, stop and step");
  if (rest.empty()) return make<Slice>(Value(), arguments[0], Value());
  return make<Slice>(arguments[0], rest[0], rest.size() > 1 ? rest[1] : Value());
}

Value make_tensor(Interpreter& interpreter, std::span<Value> arguments) {
  if (arguments[1].is_number())
    raise("TypeError", "tensor: the data is one argument, got several numbers", "write `tensor([1, 2, 3])`");
  const kiln::Tensor x = tensor_from(interpreter, arguments[0], dtype_argument(arguments[1], "dtype"),
                                     optional_device_argument(arguments[2], "device"));
  if (bool_argument(arguments[3], "requires_grad")) kiln::set_requires_grad(x, true);
  return Value(x);
}

Value make_dtype(Interpreter&, std::span<Value> arguments) { return *dtype_argument(arguments[0], "name"); }

Value make_device(Interpreter&, std::span<Value> arguments) { return device_argument(arguments[0], "name"); }

constexpr NativeDef kTensor = {"tensor(data, dtype=none, device=none, requires_grad=false)",
                               "A new tensor of nested lists of numbers, of a number, or a copy of another "
                               "tensor. Floats give the default float "
                               "dtype, ints i64.\n>>> tensor([[1, 2], [3, 4]]).shape\n(2, 2)",
                               make_tensor};

constexpr NativeDef kConstructors[] = {
    {"int(x=0, base=none)",
     "A number or text as an int; floats are cut toward zero.\n>>> int(\"ff\", 16)\n255", make_int},
    {"float(x=0.0)", "A number or text as a float.\n>>> float(\"1e3\")\n1000.0", make_float},
    {"bool(x=false)", "The truth of a value.\n>>> bool([])\nfalse", make_bool},
    {"str(x=\"\")", "The text of a value as `print` shows it.\n>>> str(1.5)\n'1.5'", make_str},
    {"list(*xs)", "The items of an iterable as a new list.\n>>> list(range(3))\n[0, 1, 2]", make_list},
    {"tuple(*xs)", "The items of an iterable as a tuple.\n>>> tuple(\"ab\")\n('a', 'b')", make_tuple},
    {"dict(*xs, **named)",
     "A new dict of another one, of pairs, or of named values.\n>>> dict(a=1)\n{'a': 1}", make_dict},
    {"set(*xs)", "The items of an iterable, each once, as a new set.\n>>> set([2, 1, 2])\n{2, 1}", make_set},
    {"range(start, stop=none, step=1)",
     "The ints from start up to, not including, stop; `range(n)` starts at 0.", make_range},
    {"slice(start, *rest)",
     "What `a:b:c` stands for in an index; `slice(stop)` or `slice(start, stop, step)`.", make_slice},
    kTensor,
    {"dtype(name)", "The dtype of that name.\n>>> dtype(\"float32\")\nf32", make_dtype},
    {"device(name=none)",
     "A place for tensors, such as \"cpu\"; `with device(d) { … }` makes it the default.", make_device},
    {"complex(real=0, imag=none)",
     "The complex number of its parts, or of text; with tensors, the tensor of complex numbers of its parts, "
     "which "
     "broadcast.\n>>> complex(1, 2), complex(tensor([1.0, 3.0]), 2.0).tolist()\n((1+2j), [(1+2j), (3+2j)])",
     make_complex},
    {"graph(f, *args, stage=\"functional\", **named)",
     "The graph of one call f(*args, **named) at a stage, such as \"captured\". With breaks it is the first; "
     "`graphs` gives all. It prints as text, tells its `nodes`, and a call runs it.\n"
     ">>> graph(x => x.cos().cos(), ones(3)).ops()\n['cos', 'cos']",
     graph_of_call},
};

struct TypeRow {
  const char* name;
  Tag tag;
};
// `int` to `graph` are in the prelude with a constructor; the others are only what `type` gives.
constexpr TypeRow kTypes[] = {
    {"int", Tag::Int},           {"float", Tag::Float},       {"bool", Tag::Bool},     {"str", Tag::Str},
    {"list", Tag::List},         {"tuple", Tag::Tuple},       {"dict", Tag::Dict},     {"set", Tag::Set},
    {"range", Tag::Range},       {"slice", Tag::Slice},       {"tensor", Tag::Tensor}, {"dtype", Tag::DType},
    {"device", Tag::Device},     {"complex", Tag::Complex},   {"graph", Tag::Graph},   {"none", Tag::None},
    {"function", Tag::Function}, {"type", Tag::Type},         {"module", Tag::Module}, {"error", Tag::Error},
    {"file", Tag::File},         {"iterator", Tag::Iterator}, {"object", Tag::Opaque},
};

// One object per type, for the life of the process.
const std::vector<std::pair<Tag, Value>>& types() {
  static const auto* const all = [] {
    auto* made = new std::vector<std::pair<Tag, Value>>();
    for (const TypeRow& row : kTypes) made->emplace_back(row.tag, make<Type>(row.name, row.tag));
    for (std::size_t i = 0; i < std::size(kConstructors); ++i) {
      (*made)[i].second.as<Type>().constructor = make_native(kConstructors[i]);
    }
    return made;
  }();
  return *all;
}

}  // namespace

namespace host {

Value type_value(Tag tag) {
  switch (tag) {
    case Tag::Native:
    case Tag::Method:
      tag = Tag::Function;
      break;
    case Tag::StructType:
      tag = Tag::Type;
      break;
    default:
      break;
  }
  for (const auto& [instances, type] : types()) {
    if (instances == tag) return type;
  }
  return types().front().second;
}

Value type_value(const Value& value) {
  if (value.is(Tag::Instance)) return value.as<Instance>().type;
  if (value.is(Tag::Error)) {
    if (const Value* kind = error_type(value.as<Error>().diagnostic.kind)) return *kind;
  }
  return type_value(value.tag());
}

namespace {

// Of one type that is no collection of types.
bool is_instance_of_one(const Value& value, const Value& type) {
  if (type.is(Tag::StructType)) return value.is(Tag::Instance) && identical(value.as<Instance>().type, type);
  if (type.is_none()) return value.is_none();
  if (type.is(Tag::DType)) return value.is(Tag::Tensor) && value.tensor_impl()->dtype == type.as_dtype();
  if (!type.is(Tag::Type)) wrong_type("type", "a type, a struct or a tuple of them", type);
  // A bool is an int, as in Python.
  if (type.as<Type>().instances == Tag::Int && value.is(Tag::Bool)) return true;
  return identical(type_value(value), type);
}

}  // namespace

// Without recursion, since types may nest deeper than the machine's stack; each collection is looked at once,
// however often it is in others or in itself.
bool is_instance(const Value& value, const Value& type) {
  if (items_of(type) == nullptr) return is_instance_of_one(value, type);
  std::vector<const Value*> open{&type};
  std::unordered_set<const std::vector<Value>*> seen;
  while (!open.empty()) {
    const Value& next = *open.back();
    open.pop_back();
    const std::vector<Value>* const several = items_of(next);
    if (several == nullptr) {
      if (is_instance_of_one(value, next)) return true;
    } else if (seen.insert(several).second) {
      for (auto each = several->rbegin(); each != several->rend(); ++each) open.push_back(&*each);
    }
  }
  return false;
}

}  // namespace host

std::span<const NativeDef> type_natives() { return kConstructors; }

}  // namespace kiln::interp
