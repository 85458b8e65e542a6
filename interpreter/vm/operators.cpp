#include "interpreter/vm/operators.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "interpreter/interpreter.h"
#include "interpreter/values/arithmetic.h"
#include "interpreter/values/compare_numbers.h"
#include "interpreter/values/complex_number.h"
#include "interpreter/values/natives.h"
#include "interpreter/values/objects.h"
#include "interpreter/values/sets.h"
#include "interpreter/values/unknown.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/errors.h"
#include "interpreter/vm/tensor_operators.h"
#include "tensor/interrupt.h"

namespace kiln::interp {
namespace {

using lang::BinaryOp;
using lang::CompareOp;
using lang::UnaryOp;

[[noreturn]] void refuse(BinaryOp op, const Value& a, const Value& b) {
  std::string help = help_with_none(a.is_none() ? a : b);
  if (op == BinaryOp::Add && (a.is(Tag::Str) || b.is(Tag::Str))) {
    help = "make it text with `str(…)`, or use f\"…{x}…\"";
  }
  const auto holds_numbers = [](const Value& v) { return v.is(Tag::List) || v.is(Tag::Range); };
  if ((holds_numbers(a) && b.is_number()) || (a.is_number() && holds_numbers(b)))
    help = "elements are computed with in a tensor: `tensor(xs)`";
  if (a.is(Tag::Set) != b.is(Tag::Set) && is_set_operator(op)) help = "make a set of the other: `set(…)`";
  if (a.is(Tag::Set) && b.is(Tag::Set) && op == BinaryOp::Add) help = "sets are joined by `|`";
  raise("TypeError", quoted(spelling(op)) + " does not work on " + describe(a) + " and " + describe(b), help);
}

// How often a sequence is repeated; an error when the result could not be stored.
std::size_t repetitions(const Value& count, std::size_t size) {
  const std::int64_t n = std::max<std::int64_t>(count.as_int(), 0);
  std::int64_t total = 0;
  if (__builtin_mul_overflow(n, static_cast<std::int64_t>(size), &total) || total > (std::int64_t{1} << 36)) {
    raise("OutOfMemory", "a sequence of " + std::to_string(size) + " repeated " + std::to_string(n) +
                             " times does not fit in memory");
  }
  return total == 0 ? 0 : static_cast<std::size_t>(n);  // nothing, however often
}

void append(std::vector<Value>& to, const std::vector<Value>& items) {
  in_pieces(items.size(), kPieceOfValues, [&](std::size_t begin, std::size_t end) {
    to.insert(to.end(), items.data() + begin, items.data() + end);
  });
}
void append(std::string& to, std::string_view text) {
  in_pieces(text.size(), kPieceOfBytes,
            [&](std::size_t begin, std::size_t end) { to += text.substr(begin, end - begin); });
}

template <class Sequence>
Sequence repeat(const Sequence& items, const Value& count) {
  const std::size_t n = repetitions(count, items.size());
  Sequence result;
  result.reserve(n * items.size());
  for (std::size_t i = 0; i < n; ++i) append(result, items);
  return result;
}

template <class Sequence>
Sequence joined(const Sequence& a, const Sequence& b) {
  Sequence result;
  result.reserve(a.size() + b.size());
  append(result, a);
  append(result, b);
  return result;
}

Value add_values(const Value& a, const Value& b) {
  if (a.tag() == b.tag()) {
    if (a.is(Tag::Str)) return make<Str>(joined(a.as<Str>().text, b.as<Str>().text));
    if (a.is(Tag::List)) return make<List>(joined(a.as<List>().items, b.as<List>().items));
    if (a.is(Tag::Tuple)) return make<Tuple>(joined(a.as<Tuple>().items, b.as<Tuple>().items));
  }
  refuse(BinaryOp::Add, a, b);
}

Value multiply_values(const Value& a, const Value& b) {
  if (a.is(Tag::Int) && !b.is(Tag::Int)) return multiply_values(b, a);
  if (!b.is(Tag::Int)) refuse(BinaryOp::Mul, a, b);
  if (a.is(Tag::List)) return make<List>(repeat(a.as<List>().items, b));
  if (a.is(Tag::Tuple)) return make<Tuple>(repeat(a.as<Tuple>().items, b));
  if (!a.is(Tag::Str)) refuse(BinaryOp::Mul, a, b);
  return make<Str>(repeat(a.as<Str>().text, b));
}

Value merged(const Value& a, const Value& b) {
  const Value result = make<Dict>();
  for (const Value* from : {&a, &b}) {
    for (const Dict::Entry& entry : from->as<Dict>().entries()) {
      check_interrupt();
      if (entry.live) result.as<Dict>().set(entry.key, entry.value);
    }
  }
  return result;
}

}  // namespace

Value binary_operator(Interpreter&, BinaryOp op, const Value& a, const Value& b) {
  if (a.is(Tag::Tensor) || b.is(Tag::Tensor)) return tensor_binary(op, a, b);
  if (a.is_number() && b.is_number()) return number_operator(op, a, b);
  if (is_any_number(a) && is_any_number(b)) return complex_operator(op, a, b);
  if (op == BinaryOp::Add) return add_values(a, b);
  if (op == BinaryOp::Mul) return multiply_values(a, b);
  if (op == BinaryOp::BitOr && a.is(Tag::Dict) && b.is(Tag::Dict)) return merged(a, b);
  if (a.is(Tag::Set) && b.is(Tag::Set) && is_set_operator(op))
    return set_operator(op, a.as<Set>(), b.as<Set>());
  refuse(op, a, b);
}

void augmented_operator(Interpreter& interpreter, BinaryOp op, Value& target, const Value& value) {
  if (target.is(Tag::Tensor)) return tensor_augmented(op, target, value);
  if (op == BinaryOp::Add && target.is(Tag::List)) {
    if (value.is(Tag::List)) {
      auto& items = target.as<List>().items;
      const std::size_t count = value.as<List>().items.size();  // `xs += xs` doubles it
      for (std::size_t i = 0; i < count; ++i) {
        Value item = value.as<List>().items[i];
        items.push_back(std::move(item));
      }
      return;
    }
    std::vector<Value> more = interpreter.to_vector(value);
    auto& items = target.as<List>().items;
    items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return;
  }
  if (op == BinaryOp::Add && target.is(Tag::Str) && value.is(Tag::Str) && target.object()->refs == 1 &&
      !identical(target, value)) {
    target.as<Str>().append(value.as<Str>().text);
    return;
  }
  if (op == BinaryOp::BitOr && target.is(Tag::Dict) && value.is(Tag::Dict)) {
    return host::update_dict(interpreter, target.as<Dict>(), value);
  }
  if (target.is(Tag::Set) && value.is(Tag::Set) && is_set_operator(op)) {
    const Value result = set_operator(op, target.as<Set>(), value.as<Set>());
    return target.as<Set>().exchange(result.as<Set>());
  }
  Value result = binary_operator(interpreter, op, target, value);
  target.take(result);
}

Value unary_operator(Interpreter& interpreter, UnaryOp op, const Value& v) {
  if (op == UnaryOp::Not) return !truth_of(interpreter, v);
  if (v.is(Tag::Tensor)) return tensor_unary(op, v);
  if (v.is(Tag::Float) && op == UnaryOp::Neg) return -v.as_float();
  if (v.is(Tag::Float) && op == UnaryOp::Pos) return v;
  if (v.is(Tag::Complex) && op == UnaryOp::Pos) return v;
  if (v.is(Tag::Complex) && op == UnaryOp::Neg) {
    const kiln::Complex<double> z = complex_of(v);
    return complex_value(-z.real, -z.imaginary);
  }
  if (v.is(Tag::Bool) && op == UnaryOp::Invert) return !v.as_bool();
  if (v.is(Tag::Int) || v.is(Tag::Bool)) {
    if (op == UnaryOp::Neg) return negate(v.as_int());
    return op == UnaryOp::Invert ? ~v.as_int() : v.as_int();
  }
  raise("TypeError", "unary " + quoted(spelling(op)) + " does not work on " + describe(v));
}

bool truth_of(Interpreter&, const Value& v) {
  switch (v.tag()) {
    case Tag::None:
      return false;
    case Tag::Bool:
    case Tag::Int:
      return v.as_int() != 0;
    case Tag::Float:
      return v.as_float() != 0;
    case Tag::Complex:
      return complex_of(v) != kiln::Complex<double>{};
    case Tag::Str:
      return !v.as<Str>().text.empty();
    case Tag::List:
      return !v.as<List>().items.empty();
    case Tag::Tuple:
      return !v.as<Tuple>().items.empty();
    case Tag::Dict:
    case Tag::Set:
      return v.as<Dict>().size() != 0;
    case Tag::Range:
      return v.as<Range>().size() != 0;
    case Tag::Tensor:
      if (v.tensor().numel() == 1) return v.tensor().item_bool();
      raise("ValueError",
            "a tensor of " + std::to_string(v.tensor().numel()) + " elements, " + describe(v) +
                ", is neither true nor false",
            "say what is meant: `any(…)` or `all(…)`");
    default:
      look_at(v);
      return true;
  }
}

namespace {

bool is_ordered(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return true;
  return a.tag() == b.tag() && (a.is(Tag::Str) || a.is(Tag::List) || a.is(Tag::Tuple));
}

std::partial_ordering order_values(CompareOp op, const Value& a, const Value& b, int depth);

std::partial_ordering order_items(CompareOp op, const std::vector<Value>& a, const std::vector<Value>& b,
                                  int depth) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!values_equal(a[i], b[i])) return order_values(op, a[i], b[i], depth + 1);
  }
  return a.size() <=> b.size();
}

std::partial_ordering order_values(CompareOp op, const Value& a, const Value& b, int depth) {
  if (depth > 1000)
    raise("RecursionError", "values are nested too deeply to compare (more than 1000 levels)");
  if (!is_ordered(a, b)) {
    const bool number_and_text = (a.is_number() && b.is(Tag::Str)) || (a.is(Tag::Str) && b.is_number());
    const bool complex = is_any_number(a) && is_any_number(b);
    raise("TypeError", quoted(spelling(op)) + " does not work on " + describe(a) + " and " + describe(b),
          number_and_text ? "make the text a number with `int(…)` or `float(…)`"
          : complex       ? "complex numbers have no order: compare `abs(z)` or `z.real`"
                          : "");
  }
  if (a.is_number()) return compare_numbers(a, b);
  if (a.is(Tag::Str)) return a.as<Str>().text.compare(b.as<Str>().text) <=> 0;
  if (a.is(Tag::List)) return order_items(op, a.as<List>().items, b.as<List>().items, depth);
  return order_items(op, a.as<Tuple>().items, b.as<Tuple>().items, depth);
}

bool holds(CompareOp op, std::partial_ordering order) {
  switch (op) {
    case CompareOp::Lt:
      return order < 0;
    case CompareOp::Le:
      return order <= 0;
    case CompareOp::Gt:
      return order > 0;
    default:
      return order >= 0;
  }
}

bool contains_item(const std::vector<Value>& items, const Value& item) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& v) { return identical(v, item) || values_equal(v, item); });
}

bool range_contains(const Range& range, const Value& item) {
  if (item.is(Tag::Complex)) {
    const kiln::Complex<double> z = complex_of(item);
    return z.imaginary == 0 && range_contains(range, z.real);
  }
  if (!item.is_number()) return false;
  if (item.is(Tag::Float) && !(std::abs(item.as_float()) < 0x1p63)) return false;
  const std::int64_t n = item.is(Tag::Float) ? static_cast<std::int64_t>(item.as_float()) : item.as_int();
  if (!values_equal(item, n)) return false;
  if (range.step > 0 ? n < range.start || n >= range.stop : n > range.start || n <= range.stop) return false;
  __extension__ using Wide = __int128;
  return (static_cast<Wide>(n) - range.start) % range.step == 0;
}

bool contains(Interpreter& interpreter, const Value& container, const Value& item) {
  switch (container.tag()) {
    case Tag::List:
      return contains_item(container.as<List>().items, item);
    case Tag::Tuple:
      return contains_item(container.as<Tuple>().items, item);
    case Tag::Dict:
    case Tag::Set:
      return container.as<Dict>().find(item) != nullptr;
    case Tag::Range:
      return range_contains(container.as<Range>(), item);
    case Tag::Tensor:
      return tensor_contains(container, item);
    case Tag::Str:
      if (!item.is(Tag::Str)) raise("TypeError", "`in` a str asks for a str, not " + describe(item));
      return find_text(container.as<Str>().text, item.as<Str>().text) != std::string::npos;
    case Tag::Instance:
      if (const Value* method = container.as<Instance>().struct_type().method("contains")) {
        return truth_of(interpreter, interpreter.call(*method, {container, item}));
      }
      [[fallthrough]];
    default:
      break;
  }
  bool found = false;
  interpreter.iterate(container, [&](const Value& v) {
    found = identical(v, item) || values_equal(v, item);
    return !found;
  });
  return found;
}

}  // namespace

Value compare_operator(Interpreter& interpreter, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::Is:
      return same_value(a, b);
    case CompareOp::IsNot:
      return !same_value(a, b);
    case CompareOp::In:
      return contains(interpreter, b, a);
    case CompareOp::NotIn:
      return !contains(interpreter, b, a);
    default:
      break;
  }
  if (a.is(Tag::Tensor) || b.is(Tag::Tensor)) return tensor_compare(op, a, b);
  if (op == CompareOp::Eq) return values_equal(a, b);
  if (op == CompareOp::Ne) return !values_equal(a, b);
  if (a.is(Tag::Set) && b.is(Tag::Set)) return sets_ordered(op, a.as<Set>(), b.as<Set>());
  return holds(op, order_values(op, a, b, 0));
}

}  // namespace kiln::interp
