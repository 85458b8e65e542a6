// Comparisons of numbers, of tensors and of identities.
#include <array>

#include "interpreter/capture/flow/reader.h"
#include "interpreter/vm/operators.h"
#include "tensor/op.h"
#include "tensor/operators.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using Kind = FlowItem::Kind;
using lang::CompareOp;

FlowItem FlowReader::compared(CompareOp op, const FlowItem& left, const FlowItem& right) {
  const FlowItem a = forced(left), b = forced(right);
  if (a.is(Kind::Number) && b.is(Kind::Number)) return numbers_compared(op, a, b);
  if (a.is(Kind::Letter) || b.is(Kind::Letter)) return letters_compared(op, a, b);
  const bool has_tensor = a.is(Kind::Tensor) || b.is(Kind::Tensor);
  const auto is_operand = [](const FlowItem& x) { return x.is(Kind::Tensor) || x.is(Kind::Number); };
  if (!has_tensor || !is_operand(a) || !is_operand(b)) {
    const bool are_text = is_text(a) && is_text(b);
    if (const auto result = tuples_compared(op, a, b)) return *result;
    if (!are_text) throw Unsupported{text_of(a) + " and " + text_of(b) + " are compared"};
    inputs_.expect_same(a);
    inputs_.expect_same(b);
    return FlowItem::constant(compare_operator(vm_.interpreter(), op, a.known, b.known));
  }
  const Op& row = operator_row(spelling(op), 2);
  const std::array<Tensor, 2> inputs = {operand_tensor(a), operand_tensor(b)};
  return result_of(Value(kiln::bind(row, inputs, Attrs(row))[0]));
}

// Tuples of ints are equal where all items are. Nothing for other values.
std::optional<FlowItem> FlowReader::tuples_compared(CompareOp op, const FlowItem& a, const FlowItem& b) {
  const auto is_tuple = [](const FlowItem& x) {
    return x.is(Kind::Tuple) || (x.is(Kind::Known) && x.known.is(Tag::Tuple));
  };
  if ((op != CompareOp::Eq && op != CompareOp::Ne) || !is_tuple(a) || !is_tuple(b)) return std::nullopt;
  const std::vector<FlowItem> of_a = items_of(a), of_b = items_of(b);
  FlowItem are_equal = FlowItem::constant(of_a.size() == of_b.size());
  for (std::size_t k = 0; k < std::min(of_a.size(), of_b.size()); ++k) {
    const FlowItem x = forced(of_a[k]), y = forced(of_b[k]);
    if (!x.is_int() || !y.is_int()) return std::nullopt;
    are_equal = numbers_binary(lang::BinaryOp::BitAnd, are_equal, numbers_compared(CompareOp::Eq, x, y));
  }
  return op == CompareOp::Eq ? are_equal : negated(are_equal);
}

// An int and a float compare as real numbers: so do floats, where no int is rounded.
FlowItem FlowReader::exact_float(const FlowItem& whole) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (const auto literal = whole.literal_int()) {
    if (*literal < -kExact || *literal > kExact) throw Unsupported{"a large int is compared with a float"};
    return as_float(whole);
  }
  const FlowItem n = as_int(whole);
  const auto at_most = [this](const FlowItem& a, const FlowItem& b) {
    return notes_.apply(NumberOp::LessEqual, DType::Bool, {a, b}, false);
  };
  const FlowItem above = at_most(FlowItem::constant(-kExact), n);
  const FlowItem below = at_most(n, FlowItem::constant(kExact));
  notes_.require(notes_.apply(NumberOp::And, DType::Bool, {above, below}, false), "a number is too large");
  return as_float(n);
}

FlowItem FlowReader::numbers_compared(CompareOp op, FlowItem a, FlowItem b) {
  if (a.is_literal() && b.is_literal())
    return FlowItem::constant(compare_operator(vm_.interpreter(), op, a.literal(), b.literal()));
  if (a.dtype != b.dtype) {
    const bool is_real = a.dtype == DType::F64 || b.dtype == DType::F64;
    a = is_real ? (a.dtype == DType::F64 ? a : exact_float(a)) : as_int(a);
    b = is_real ? (b.dtype == DType::F64 ? b : exact_float(b)) : as_int(b);
  }
  const auto apply = [this](NumberOp own, const FlowItem& x, const FlowItem& y) {
    return notes_.apply(own, DType::Bool, {x, y}, false);
  };
  switch (op) {
    case CompareOp::Eq:
      return apply(NumberOp::Equal, a, b);
    case CompareOp::Ne:
      return apply(NumberOp::NotEqual, a, b);
    case CompareOp::Lt:
      return apply(NumberOp::Less, a, b);
    case CompareOp::Le:
      return apply(NumberOp::LessEqual, a, b);
    case CompareOp::Gt:
      return apply(NumberOp::Less, b, a);
    case CompareOp::Ge:
      return apply(NumberOp::LessEqual, b, a);
    default:
      throw Unsupported{"`" + std::string(spelling(op)) + "` of numbers"};
  }
}

// An int in a range, or a number among numbers.
FlowItem FlowReader::contained(const FlowItem& x, const FlowItem& given) {
  FlowItem among = given;
  if (among.is(Kind::Known) && among.known.is(Tag::Range)) {
    inputs_.expect_same(among);
    const Range& range = among.known.as<Range>();
    among = FlowItem::group(Kind::Range, {FlowItem::constant(range.start), FlowItem::constant(range.stop),
                                          FlowItem::constant(range.step)});
  }
  const auto both = [this](const FlowItem& a, const FlowItem& b) {
    return numbers_binary(lang::BinaryOp::BitAnd, a, b);
  };
  if (among.is(Kind::Range) && x.is_int()) {
    const FlowItem start = forced(among.parts[0]), stop = forced(among.parts[1]), step = among.parts[2];
    if (!step.is_literal()) throw Unsupported{"a number is looked for in a range whose step varies"};
    const bool is_rising = *step.literal_int() > 0;
    const CompareOp from = is_rising ? CompareOp::Ge : CompareOp::Le,
                    to = is_rising ? CompareOp::Lt : CompareOp::Gt;
    const FlowItem is_within = both(numbers_compared(from, x, start), numbers_compared(to, x, stop));
    if (*step.literal_int() == 1 || *step.literal_int() == -1) return is_within;
    const FlowItem distance = numbers_binary(lang::BinaryOp::Sub, x, start);
    const FlowItem rest = numbers_binary(lang::BinaryOp::Mod, distance, step);
    return both(is_within, numbers_compared(CompareOp::Eq, rest, FlowItem::constant(std::int64_t{0})));
  }
  constexpr std::size_t kMostItems = 32;
  const std::vector<FlowItem> items = is_text(among) ? letters_of(among) : items_of(among);
  const bool is_letter = x.is(Kind::Letter);
  if ((!is_letter && !x.is(Kind::Number)) || (!is_letter && is_text(among)) || items.size() > kMostItems)
    throw Unsupported{text_of(x) + " is looked for in " + text_of(given)};
  FlowItem is_there = FlowItem::constant(false);
  for (const FlowItem& each : items) {
    const FlowItem item = forced(each);
    if (!is_letter && !item.is(Kind::Number)) throw Unsupported{"a number is looked for among other values"};
    is_there = numbers_binary(lang::BinaryOp::BitOr, is_there, compared(CompareOp::Eq, x, item));
  }
  return is_there;
}

// A flow compares identities only with `none`, as programs do that keep the best value so far.
FlowItem FlowReader::identity_compared(CompareOp op, const FlowItem& a, const FlowItem& b) {
  if (op == CompareOp::In || op == CompareOp::NotIn) {
    const FlowItem is_there = contained(forced(a), b);
    return op == CompareOp::In ? is_there : negated(is_there);
  }
  const bool is_identity = op == CompareOp::Is || op == CompareOp::IsNot;
  if (!is_identity || (!a.is_none() && !b.is_none()))
    throw Unsupported{"`" + std::string(spelling(op)) + "` of " + text_of(a) + " and " + text_of(b)};
  for (const FlowItem* each : {&a, &b}) {
    if (each->is(Kind::Known) && each->known.is_none()) inputs_.expect_same(*each);
    if (each->is(Kind::Known) && !each->known.is_none()) {
      const FlowItem is_there = forced(*each);
      if (is_there.is(Kind::Known)) inputs_.expect_same(is_there);
    }
  }
  const bool is_same = a.is_none() && b.is_none();
  return FlowItem::constant(is_same == (op == CompareOp::Is));
}

}  // namespace kiln::interp::capture
