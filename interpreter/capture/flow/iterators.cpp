// Iterators: those that there are when the flow begins, whose parts are carried like variables, and those
// that are made in the loop.
#include "interpreter/capture/flow/reader.h"
#include "tensor/functions.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;
using lang::BinaryOp;
using lang::CompareOp;

namespace {

FlowItem zero() { return FlowItem::constant(std::int64_t{0}); }
IteratorForm form_of(const FlowItem& iterator) {
  return iterator.is(Kind::Iterator) ? iterator.form : iterator.known.as<Iterator>().form;
}

}  // namespace

FlowReader::IteratorPlace FlowReader::IteratorPlace::within(std::size_t part) const {
  IteratorPlace inner = *this;
  inner.path.push_back(part);
  return inner;
}

// ---- Making ----

FlowItem FlowReader::iterator_over(const FlowItem& iterable) {
  const FlowItem x = forced(iterable);
  switch (x.kind) {
    case Kind::Iterator:
      return x;
    case Kind::Tensor:
      if (x.tensor.rank() == 0) break;
      return FlowItem::iterator(IteratorForm::Rows, {x, zero()});
    case Kind::Range:
      return FlowItem::iterator(IteratorForm::Range,
                                {x.parts[0], count_of_range(x.parts[0], x.parts[1], x.parts[2]), x.parts[2]});
    case Kind::Tuple:
    case Kind::List:  // which the flow does not change, and can make again only as a tuple
      return FlowItem::iterator(IteratorForm::Items, {FlowItem::group(Kind::Tuple, x.parts), zero()});
    case Kind::Known:
      if (x.known.is(Tag::Iterator)) return x;
      if (x.known.is(Tag::List) || x.known.is(Tag::Tuple) || x.known.is(Tag::Str))
        return FlowItem::iterator(IteratorForm::Items, {x, zero()});
      if (!x.known.is(Tag::Range)) break;
      inputs_.expect_same(x);
      return FlowItem::iterator(IteratorForm::Range, {FlowItem::constant(x.known.as<Range>().start),
                                                      FlowItem::constant(x.known.as<Range>().iterations()),
                                                      FlowItem::constant(x.known.as<Range>().step)});
    default:
      break;
  }
  throw Unsupported{"iteration over " + text_of(x)};
}

// Nothing for a function that makes no such iterator.
std::optional<FlowItem> FlowReader::call_iteration(std::string_view name,
                                                   const std::vector<FlowItem>& arguments,
                                                   const std::vector<std::string_view>& names) {
  if (name == "enumerate" && (arguments.size() == 1 || arguments.size() == 2)) {
    const FlowItem start = arguments.size() == 1 ? zero() : forced(arguments[1]);
    if (!start.is_int() || (!names.empty() && names[0] != "start")) return std::nullopt;
    return FlowItem::iterator(IteratorForm::Enumerate, {iterator_over(arguments[0]), start, zero()});
  }
  if (!names.empty()) return std::nullopt;
  if (name == "zip" && !arguments.empty()) {
    std::vector<FlowItem> parts;
    for (const FlowItem& each : arguments) parts.push_back(iterator_over(each));
    return FlowItem::iterator(IteratorForm::Zip, std::move(parts));
  }
  if (name == "reversed" && arguments.size() == 1 && arguments[0].is(Kind::Range)) {
    const std::vector<FlowItem>& range = arguments[0].parts;
    const FlowItem count = count_of_range(range[0], range[1], range[2]);
    const FlowItem before = numbers_binary(BinaryOp::Sub, count, FlowItem::one());
    const FlowItem last =
        numbers_binary(BinaryOp::Add, range[0], numbers_binary(BinaryOp::Mul, before, range[2]));
    return FlowItem::iterator(IteratorForm::Range, {last, count, unary(lang::UnaryOp::Neg, range[2])});
  }
  return std::nullopt;
}

// One iterator in two places would be stepped in one of them alone.
void FlowReader::refuse_iterators(const std::vector<FlowItem>& items) {
  for (const FlowItem& each : items) {
    if (each.is(Kind::Iterator)) throw Unsupported{"an iterator is given a name"};
  }
}

// ---- Parts ----

FlowVariable FlowReader::known_part(const FlowItem& iterator, std::size_t part) {
  const SourceId owner = inputs_.owner(iterator.known, iterator.source);
  const Iterator& it = iterator.known.as<Iterator>();
  Guard guard;
  guard.kind = Guard::Kind::Iterator;
  guard.source = owner;
  guard.number = static_cast<std::int64_t>(it.form);
  guard.other = static_cast<SourceId>(it.parts.size());
  inputs_.guard(std::move(guard));
  const auto number = static_cast<std::int64_t>(part);
  return {inputs_.part(owner, Source::Kind::Part, number, "'s part " + std::to_string(part)), it.parts[part]};
}

FlowItem FlowReader::iterator_at(const IteratorPlace& place) {
  FlowItem item = reg(place.r);
  for (const std::size_t part : place.path)
    item = item.is(Kind::Iterator) ? FlowItem(item.parts[part]) : value_of(known_part(item, part));
  return item;
}

FlowItem FlowReader::part_at(const IteratorPlace& place, std::size_t part) {
  return forced(iterator_at(place.within(part)));
}

void FlowReader::set_part(const IteratorPlace& place, std::size_t part, const FlowItem& value) {
  const FlowItem iterator = iterator_at(place);
  if (!iterator.is(Kind::Iterator)) return assign(known_part(iterator, part), value);
  FlowItem* made = &reg(place.r);
  for (const std::size_t each : place.path) made = &made->parts[each];
  made->parts[part] = value;
}

// ---- Steps ----

// Goes on by `take` with the next item, or by `done`, each in its block.
void FlowReader::step(const IteratorPlace& place, const Take& take, const Done& done) {
  switch (form_of(iterator_at(place))) {
    case IteratorForm::Items:
      return next_item(
          iterator_at(place.within(0)), part_at(place, 1),
          [&](const FlowItem& next) { set_part(place, 1, next); }, take, done);
    case IteratorForm::Rows:
      return step_rows(place, take, done);
    case IteratorForm::Range:
      return step_numbers(place, take, done);
    case IteratorForm::Enumerate: {
      const auto take_pair = [&](const FlowItem& item) {
        const FlowItem count = part_at(place, 2);
        const FlowItem number = numbers_binary(BinaryOp::Add, part_at(place, 1), count);
        set_part(place, 2, numbers_binary(BinaryOp::Add, count, FlowItem::one()));
        take(FlowItem::group(Kind::Tuple, {number, item}));
      };
      return step(place.within(0), take_pair, done);
    }
    case IteratorForm::Zip:
      return step_each(place, {}, take, done);
    default:
      throw Unsupported{"a loop over " + text_of(iterator_at(place))};
  }
}

void FlowReader::step_rows(const IteratorPlace& place, const Take& take, const Done& done) {
  const FlowItem x = part_at(place, 0), at_row = part_at(place, 1);
  const Dim size = x.tensor.size(0);
  const FlowItem length = FlowItem::number(DType::I64, jit::Operand::of_number(size));
  const auto take_row = [&] {
    const Tensor row = ops::select(x.tensor, 0, notes_.index(at_row, size));
    set_part(place, 1, numbers_binary(BinaryOp::Add, at_row, FlowItem::one()));
    take(notes_.item_of(row));
  };
  split(numbers_compared(CompareOp::Lt, at_row, length), take_row, done);
}

// What comes after the last number may be no int. Then the interpreter takes the step.
void FlowReader::step_numbers(const IteratorPlace& place, const Take& take, const Done& done) {
  const FlowItem next = part_at(place, 0), left = part_at(place, 1);
  const auto take_number = [&] {
    set_part(place, 1, numbers_binary(BinaryOp::Sub, left, FlowItem::one()));
    set_part(place, 0, numbers_binary(BinaryOp::Add, next, part_at(place, 2)));
    take(next);
  };
  split(numbers_compared(CompareOp::Gt, left, zero()), take_number, done);
}

// The next item of each iterator: those before one that has no more have been stepped.
void FlowReader::step_each(const IteratorPlace& place, std::vector<FlowItem> items, const Take& take,
                           const Done& done) {
  const FlowItem iterator = iterator_at(place);
  const std::size_t count =
      iterator.is(Kind::Iterator) ? iterator.parts.size() : iterator.known.as<Iterator>().parts.size();
  if (count == 0) return done();
  if (items.size() == count) return take(FlowItem::group(Kind::Tuple, std::move(items)));
  const auto take_item = [&](const FlowItem& item) {
    std::vector<FlowItem> more = items;
    more.push_back(item);
    step_each(place, std::move(more), take, done);
  };
  step(place.within(items.size()), take_item, done);
}

}  // namespace kiln::interp::capture
