// Loops: the state of an iteration in three registers, as BeginFor leaves it and NextFor steps it.
#include "interpreter/capture/flow/reader.h"
#include "tensor/functions.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using Kind = FlowItem::Kind;
using lang::BinaryOp;

namespace {

FlowItem zero() { return FlowItem::constant(std::int64_t{0}); }
FlowItem one() { return FlowItem::constant(std::int64_t{1}); }

}  // namespace

// How many items a range has: (stop - start) // step rounded up, or none.
FlowItem FlowReader::count_of_range(const FlowItem& start, const FlowItem& stop, const FlowItem& step) {
  const auto by = step.literal_int();
  if (!by || *by == 0) throw Unsupported{"the step of a range varies"};
  const FlowItem distance =
      *by > 0 ? numbers_binary(BinaryOp::Sub, stop, start) : numbers_binary(BinaryOp::Sub, start, stop);
  FlowItem count = distance;
  if (*by != 1 && *by != -1) {
    const FlowItem width = FlowItem::constant(*by > 0 ? *by : -*by);
    const FlowItem less = numbers_binary(BinaryOp::Sub, distance, one());
    count = numbers_binary(BinaryOp::Add, numbers_binary(BinaryOp::FloorDiv, less, width), one());
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
  const bool is_sequence =
      source.is(Kind::Tuple) ||
      (source.is(Kind::Known) && (source.known.is(Tag::List) || source.known.is(Tag::Tuple)));
  if (!is_sequence) throw Unsupported{"a loop over " + text_of(source)};
  state[0] = source;
  state[1] = zero();
  state[2] = {};
}

void FlowReader::next_for() {
  const std::uint32_t r = at().a;
  const FlowItem state = reg(r);
  if (state.is_int() || state.known.is(Tag::Int)) return next_of_range(r);
  if (state.is(Kind::Known) && state.known.is(Tag::List)) return next_of_list(r);
  if (state.is(Kind::Tuple) || (state.is(Kind::Known) && state.known.is(Tag::Tuple))) return next_of_tuple(r);
  throw Unsupported{"a loop over " + text_of(state)};
}

// What comes after the last item of a range may be no int. Then the interpreter takes the step.
void FlowReader::next_of_range(std::uint32_t r) {
  const FlowItem next = forced(reg(r)), left = forced(reg(r + 1)), step = forced(reg(r + 2));
  const FlowItem is_left = numbers_compared(lang::CompareOp::Ne, left, zero());
  const std::size_t pc = frame().pc, body = target();
  const auto take = [&] {
    const FlowItem item = next;
    reg(r) = numbers_binary(BinaryOp::Add, next, step);
    reg(r + 1) = numbers_binary(BinaryOp::Sub, left, one());
    reg(at().b) = item;
  };
  branch_within(is_left, take, body, pc + 1, [] {});
}

void FlowReader::next_of_list(std::uint32_t r) {
  const FlowItem list = reg(r), place = forced(reg(r + 1));
  if (list.source < 0) throw Unsupported{"a loop over a list that is part of the code"};
  const FlowItem numbers = inputs_.numbers(list.known, list.source);
  const Dim size = numbers.tensor.size(0);
  const FlowItem length = FlowItem::number(DType::I64, jit::Operand::of_number(size));
  const FlowItem is_left = numbers_compared(lang::CompareOp::Lt, place, length);
  const auto take = [&] {
    const Dim at_place = notes_.index(place, size);
    reg(r + 1) = numbers_binary(BinaryOp::Add, place, one());
    reg(at().b) = notes_.item(ops::select(numbers.tensor, 0, at_place));
  };
  branch_within(is_left, take, target(), frame().pc + 1, [&] { reg(r) = {}; });
}

// The items may be of different types: each is a way of its own.
void FlowReader::next_of_tuple(std::uint32_t r) {
  const FlowItem place = forced(reg(r + 1));
  const auto at_place = place.literal_int();
  if (!at_place) throw Unsupported{"a loop over a tuple that is under way"};
  const std::vector<FlowItem> items = items_of(reg(r));
  if (*at_place >= static_cast<std::int64_t>(items.size())) {
    reg(r) = {};
    return go_to(frame().pc + 1);
  }
  const std::size_t body = target();
  reg(at().b) = items[static_cast<std::size_t>(*at_place)];
  reg(r + 1) = numbers_binary(BinaryOp::Add, place, one());
  go_to(body);
}

// Goes one of two ways, on the first of which steps come before the jump.
void FlowReader::branch_within(const FlowItem& condition, const std::function<void()>& take, std::size_t then,
                               std::size_t other, const std::function<void()>& otherwise) {
  notes_.settle_guards();
  if (condition.is_literal()) {
    const bool holds = condition.literal().as_bool();
    holds ? take() : otherwise();
    return go_to(holds ? then : other);
  }
  jit::FlowEnd end;
  end.kind = jit::FlowEnd::Kind::Branch;
  end.condition = notes_.operand_of(condition);
  end_block(std::move(end));
  FlowState before = state_;
  const jit::BlockId from = notes_.block();
  notes_.at(from).end.then.block = notes_.add_inner();
  take();
  notes_.settle_guards();
  go_to(then);
  std::swap(state_, before);
  otherwise();
  FlowState next = state_;
  next.top().pc = other;
  connect(from, true, std::move(next));
}

}  // namespace kiln::interp::capture
