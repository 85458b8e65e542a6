// Arithmetic that host values and tensors share by name, as Python has it for host values.
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/text/print_tensor.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/utf8.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using lang::BinaryOp;

Value absolute(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (x.is(Tag::Float)) return std::fabs(x.as_float());
  if (x.is(Tag::Complex)) return complex_abs(complex_of(x));
  if (!x.is_number()) wrong_type("x", "a number or a tensor", x);
  if (x.as_int() == INT64_MIN) raise("OverflowError", "abs: the result does not fit in a 64-bit int");
  return std::abs(x.as_int());
}

Value length(Interpreter& interpreter, std::span<Value> arguments) {
  const Value& x = arguments[0];
  const auto count = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
  switch (x.tag()) {
    case Tag::List:
    case Tag::Tuple:
      return count(items_of(x)->size());
    case Tag::Str:
      return count(x.as<Str>().length());
    case Tag::Dict:
    case Tag::Set:
      return count(x.as<Dict>().size());
    case Tag::Range:
      if (x.as<Range>().size() > INT64_MAX)
        raise("OverflowError",
              fmt::format("len: a range of {} items, which no int counts", x.as<Range>().size()));
      return count(x.as<Range>().size());
    case Tag::Tensor:
      if (x.as_tensor().rank() == 0) raise("TypeError", "len: a 0-d tensor has no length");
      return x.as_tensor().size(0).fixed();
    case Tag::Instance:
      if (const Value* method = x.as<Instance>().struct_type().method("len"))
        return interpreter.call(*method, {x});
      [[fallthrough]];
    default:
      raise("TypeError", fmt::format("len: {} has no length", describe(x)));
  }
}

// The least or greatest of one iterable or of several arguments; the first of equals.
Value extreme(Interpreter& interpreter, std::span<Value> arguments, bool want_max) {
  const char* const name = want_max ? "max" : "min";
  const auto& xs = arguments[0].as<Tuple>().items;
  if (xs.empty()) raise("TypeError", fmt::format("{} needs at least one argument", name));
  const Value& key = arguments[1];
  const auto& fallback = arguments[2].as<Dict>();
  for (const auto& entry : fallback.entries()) {
    if (entry.live && text_of(entry.key) != "default") {
      raise("TypeError", fmt::format("{} has no argument `{}`", name, text_of(entry.key)),
            "it takes `key` and `default`");
    }
  }
  Value best;
  Value best_key;
  bool any = false;
  const auto consider = [&](const Value& item) {
    Value k = key.is_none() ? item : interpreter.call(key, {item});
    if (!any || (want_max ? less(interpreter, best_key, k) : less(interpreter, k, best_key))) {
      best = item;
      best_key = std::move(k);
      any = true;
    }
    return true;
  };
  if (xs.size() > 1) {
    for (const Value& item : xs) consider(item);
  } else {
    interpreter.iterate(xs.front(), consider);
  }
  if (any) return best;
  if (const Value* value = arguments[2].as<Dict>().find(std::string_view("default"))) return *value;
  raise("ValueError", fmt::format("{} of nothing", name), "give `default=` for an empty iterable");
}

Value minimum(Interpreter& interpreter, std::span<Value> arguments) {
  return extreme(interpreter, arguments, false);
}
Value maximum(Interpreter& interpreter, std::span<Value> arguments) {
  return extreme(interpreter, arguments, true);
}

Value sum(Interpreter& interpreter, std::span<Value> arguments) {
  Value total = arguments[1];
  if (total.is(Tag::Str)) raise("TypeError", "sum: cannot add text", "use `\"\".join(xs)`");
  interpreter.iterate(arguments[0], [&](const Value& item) {
    std::int64_t whole = 0;
    if (total.is(Tag::Int) && item.is(Tag::Int) &&
        !__builtin_add_overflow(total.as_int(), item.as_int(), &whole)) {
      total = Value(whole);
    } else if (total.is(Tag::Float) && item.is(Tag::Float)) {
      total = Value(total.as_float() + item.as_float());
    } else {
      total = interpreter.binary(BinaryOp::Add, total, item);
    }
    return true;
  });
  return total;
}

Value any(Interpreter& interpreter, std::span<Value> arguments) {
  bool found = false;
  interpreter.iterate(arguments[0], [&](const Value& item) { return !(found = interpreter.truth(item)); });
  return found;
}

Value all(Interpreter& interpreter, std::span<Value> arguments) {
  bool every = true;
  interpreter.iterate(arguments[0], [&](const Value& item) { return every = interpreter.truth(item); });
  return every;
}

// Python's: exact halves go to the even neighbour, and decimals are those of the shortest text.
double round_decimals(double x, std::int64_t digits) {
  if (!std::isfinite(x) || digits > 323 || x == 0) return x;
  if (digits >= 0) {
    const std::string text = fmt::format("{:.{}f}", x, digits);
    double rounded = x;
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
  }
  if (digits < -308) return std::copysign(0.0, x);
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(x / unit) * unit;
}

std::int64_t round_int(std::int64_t x, std::int64_t digits) {
  if (digits >= 0) return x;
  if (digits < -18) return 0;
  std::int64_t unit = 1;
  for (std::int64_t i = 0; i < -digits; ++i) unit *= 10;
  const std::int64_t rest = x % unit;
  const std::int64_t base = x - rest;
  const std::int64_t twice = 2 * (rest < 0 ? -rest : rest);
  const bool away = twice > unit || (twice == unit && (base / unit) % 2 != 0);
  std::int64_t result = base;
  if (away && __builtin_add_overflow(base, rest < 0 ? -unit : unit, &result)) {
    raise("OverflowError", "round: the result does not fit in a 64-bit int");
  }
  return result;
}

Value round(Interpreter&, std::span<Value> arguments) {
  const Value& x = arguments[0];
  if (!x.is_number()) wrong_type("x", "a number or a tensor", x);
  if (x.is(Tag::Float)) {
    if (!arguments[1].is_none()) return round_decimals(x.as_float(), int_argument(arguments[1], "digits"));
    const double rounded = std::nearbyint(x.as_float());
    if (std::isnan(rounded)) raise("ValueError", "round: nan is not an int");
    if (!(std::fabs(rounded) < 9.2e18)) {
      raise("OverflowError", fmt::format("round: {} does not fit in a 64-bit int", repr_of(rounded)));
    }
    return static_cast<std::int64_t>(rounded);
  }
  return round_int(x.as_int(), arguments[1].is_none() ? 0 : int_argument(arguments[1], "digits"));
}

Value power(Interpreter& interpreter, std::span<Value> arguments) {
  if (arguments[2].is_none()) return interpreter.binary(BinaryOp::Pow, arguments[0], arguments[1]);
  std::int64_t exponent = int_argument(arguments[1], "exponent");
  const std::int64_t modulus = int_argument(arguments[2], "modulus");
  if (modulus == 0) raise("ValueError", "pow: the modulus must not be 0");
  if (exponent < 0) raise("ValueError", "pow: a negative exponent needs no modulus");
  __extension__ using Wide = __int128;
  const auto wrap = [&](Wide v) { return (v % modulus + modulus) % modulus; };
  Wide base = wrap(int_argument(arguments[0], "x"));
  Wide result = wrap(1);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrap(result * base);
    base = wrap(base * base);
  }
  return static_cast<std::int64_t>(result);
}

Value divide(Interpreter& interpreter, std::span<Value> arguments) {
  return tuple_value({interpreter.binary(BinaryOp::FloorDiv, arguments[0], arguments[1]),
                      interpreter.binary(BinaryOp::Mod, arguments[0], arguments[1])});
}

constexpr NativeDef kShared[] = {
    {"abs(x)", "The absolute value.\n>>> abs(-3)\n3", absolute},
    {"min(*xs, key=none, **default)",
     "The least item of an iterable, or of several arguments.\n>>> min(3, 1, 2)\n1", minimum},
    {"max(*xs, key=none, **default)",
     "The greatest item of an iterable, or of several arguments.\n>>> max([3, 1])\n3", maximum},
    {"sum(xs, start=0)", "The sum of the items.\n>>> sum([1, 2, 3])\n6", sum},
    {"any(xs)", "Whether at least one item is true.\n>>> any([false, true])\ntrue", any},
    {"all(xs)", "Whether every item is true.\n>>> all([])\ntrue", all},
    {"round(x, digits=none)",
     "The nearest int, halves to even; with digits, a float of so many decimals.\n>>> round(2.5)\n2", round},
    {"pow(x, exponent, modulus=none)", "x ** exponent, modulo `modulus` if given.\n>>> pow(3, 4, 5)\n1",
     power},
};

constexpr NativeDef kMathNatives[] = {
    {"len(x)", "The number of items, of code points of text, of rows of a tensor.\n>>> len(\"é\")\n1",
     length},
    {"divmod(a, b)", "The pair (a // b, a % b).\n>>> divmod(7, 2)\n(3, 1)", divide},
};

}  // namespace

std::span<const NativeDef> shared_natives() { return kShared; }
std::span<const NativeDef> math_natives() { return kMathNatives; }

}  // namespace kiln::interp
