// Loops: the state of an iteration in three registers, as BeginFor leaves it and NextFor steps it.
#include "interpreter/capture/flow/reader.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using Kind = FlowItem::Kind;
using lang::BinaryOp;

namespace {

FlowItem zero() { return FlowItem::constant(std::int64_t{0}); }
}  // namespace

// How many items a range has: (stop - start) / step rounded up, or none. A step that varies may have either
// sign.
FlowItem FlowReader::count_of_range(const FlowItem& start, const FlowItem& stop, const FlowItem& step) {
  const auto by = step.literal_int();
  if (!by) {
    const FlowItem less = numbers_binary(BinaryOp::Sub, start, stop);
    return extreme(true, zero(),
                   unary(lang::UnaryOp::Neg, numbers_binary(BinaryOp::FloorDiv, less, forced(step))));
  }
  const FlowItem distance =
      *by > 0 ? numbers_binary(BinaryOp::Sub, stop, start) : numbers_binary(BinaryOp::Sub, start, stop);
  FlowItem count = distance;
  if (*by != 1 && *by != -1) {
    const FlowItem width = FlowItem::constant(*by > 0 ? *by : -*by);
    const FlowItem less = numbers_binary(BinaryOp::Sub, distance, FlowItem::one());
    count = numbers_binary(BinaryOp::Add, numbers_binary(BinaryOp::FloorDiv, less, width), FlowItem::one());
  }
  if (count.is_literal()) return FlowItem::constant(std::max<std::int64_t>(*count.literal_int(), 0));
  return extreme(true, zero(), count);
}

void FlowReader::begin_for() {
  const Instruction& i = at();
  const FlowItem source = reg(i.b);
  FlowItem* const state = &reg(i.a);
  if (source.is(Kind::Range)) {
    const FlowItem count = count_of_range(source.parts[0], source.parts[1], source.parts[2]);
    state[0] = source.parts[0];
    state[1] = count;
    state[2] = source.parts[2];
    return;
  }
  if (source.is(Kind::Known) && source.known.is(Tag::Range)) {
    inputs_.expect_same(source);
    const Range& range = source.known.as<Range>();
    state[0] = FlowItem::constant(range.start);
    state[1] = FlowItem::constant(range.iterations());
    state[2] = FlowItem::constant(range.step);
    return;
  }
  FlowItem items = forced(source);
  // A list that only the loop has is never changed, and can be made again where the flow is left.
  if (items.is(Kind::List) && i.b >= frame().code->locals) items.kind = Kind::Tuple;
  const bool is_sequence =
      items.is(Kind::Tuple) || items.is(Kind::List) ||
      (items.is(Kind::Known) && (items.known.is(Tag::List) || items.known.is(Tag::Tuple)));
  // An iterator that a variable holds would be stepped for both.
  if (items.is(Kind::Iterator) && i.b < frame().code->locals)
    throw Unsupported{"a loop over an iterator that has a name"};
  state[0] = is_sequence ? items : iterator_over(items);
  state[1] = zero();
  state[2] = {};
}

void FlowReader::next_for() {
  const std::uint32_t r = at().a;
  const FlowItem state = reg(r);
  if (state.is_int() || state.known.is(Tag::Int)) return next_of_range(r);
  const std::size_t pc = frame().pc, body = target();
  const auto take = [&](const FlowItem& item) {
    reg(at().b) = item;
    notes_.settle_guards();
    go_to(body);
  };
  const auto done = [&] {
    reg(r) = {};
    go_to(pc + 1);
  };
  if (state.is(Kind::Iterator) || state.known.is(Tag::Iterator)) return step({r}, take, done);
  const auto count = [&](const FlowItem& next) { reg(r + 1) = next; };
  next_item(state, forced(reg(r + 1)), count, take, done);
}

// What comes after the last item of a range may be no int. Then the interpreter takes the step.
void FlowReader::next_of_range(std::uint32_t r) {
  const FlowItem next = forced(reg(r)), left = forced(reg(r + 1)), step = forced(reg(r + 2));
  const std::size_t pc = frame().pc, body = target();
  const auto take = [&] {
    reg(r) = numbers_binary(BinaryOp::Add, next, step);
    reg(r + 1) = numbers_binary(BinaryOp::Sub, left, FlowItem::one());
    reg(at().b) = next;
    notes_.settle_guards();
    go_to(body);
  };
  split(numbers_compared(lang::CompareOp::Ne, left, zero()), take, [&] { go_to(pc + 1); });
}

// The item of a collection that a place counts, and the place behind it.
void FlowReader::next_item(const FlowItem& collection, const FlowItem& place,
                           const std::function<void(const FlowItem& next)>& count, const Take& take,
                           const Done& done) {
  const bool is_list = collection.is(Kind::Known) && collection.known.is(Tag::List);
  const bool reads_text = is_text(collection);
  std::vector<FlowItem> items;
  NumberList list;
  if (is_list) {
    list = number_list(collection);
  } else if (reads_text) {
    list = code_points(collection);
  } else {
    items = items_of(collection);
    list.length = FlowItem::constant(static_cast<std::int64_t>(items.size()));
  }
  const auto take_item = [&] {
    const FlowItem item = is_list      ? notes_.item(element_of(list, place))
                          : reads_text ? letter_at(collection, place)
                                       : chosen(items, place);
    count(numbers_binary(BinaryOp::Add, place, FlowItem::one()));
    take(item);
  };
  split(numbers_compared(lang::CompareOp::Lt, place, list.length), take_item, done);
}

// Goes one of two ways, each of which ends the block that it begins with.
void FlowReader::split(const FlowItem& condition, const std::function<void()>& yes,
                       const std::function<void()>& no) {
  notes_.settle_guards();
  if (condition.is_literal()) return condition.literal().as_bool() ? yes() : no();
  jit::FlowEnd end;
  end.kind = jit::FlowEnd::Kind::Branch;
  end.condition = notes_.operand_of(condition);
  end_block(std::move(end));
  const FlowState before = state_;
  const jit::BlockId from = notes_.block();
  notes_.at(from).end.then.block = notes_.add_inner();
  yes();
  state_ = before;
  // What the first way asked of sizes was not asked on this one.
  const jit::BlockId other = notes_.begin_block();
  notes_.at(from).end.other.block = other;
  no();
}

}  // namespace kiln::interp::capture
