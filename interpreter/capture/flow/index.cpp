// Items and slices of tensors, of lists of numbers and of tuples.
#include "interpreter/capture/flow/reader.h"
#include "tensor/functions.h"
#include "tensor/indexing.h"

namespace kiln::interp::capture {

using Kind = FlowItem::Kind;

namespace {

// How many dimensions an item of an index stands for.
int dimensions_of(const FlowItem& item) {
  if (item.is(Kind::Known)) {
    if (item.known.is_none() || item.known.is(Tag::Ellipsis)) return 0;
    return 1;
  }
  if (item.is(Kind::Tensor) && item.dtype == DType::Bool) return item.tensor.rank();
  return 1;
}

bool is_place(const FlowItem& item) {
  return item.is_int() || (item.is(Kind::Tensor) && item.tensor.rank() == 0 && is_integer(item.dtype));
}

}  // namespace

FlowItem FlowReader::whole(const FlowItem& item) {
  const FlowItem x = forced(item);
  if (x.is_int()) return x;
  if (is_place(x)) return notes_.item(x.tensor);
  throw Unsupported{"an index by " + text_of(x)};
}

Dim FlowReader::slice_start(const FlowItem& item, Dim size) {
  if (!item.is_none()) return notes_.slice_start(whole(item), size);
  inputs_.expect_same(item);
  return 0;
}
Dim FlowReader::slice_end(const FlowItem& item, Dim size, Dim start) {
  if (!item.is_none()) return notes_.slice_end(whole(item), size, start);
  inputs_.expect_same(item);
  return size;
}

// A view, or a copy where one of the items is a tensor.
Tensor FlowReader::indexed(const Tensor& x, const std::vector<FlowItem>& items) {
  int rest = x.rank();
  for (const FlowItem& each : items) rest -= dimensions_of(each);
  if (rest < 0) throw Unsupported{"an index of more dimensions than " + text_of(FlowItem::of(x)) + " has"};
  Tensor view = x;
  int dim = 0;
  for (const FlowItem& each : items) {
    if (is_place(each)) {
      view = ops::select(view, dim, notes_.index(whole(each), view.size(dim)));
    } else if (each.is(Kind::Slice)) {
      const Dim size = view.size(dim);
      const Dim start = slice_start(each.parts[0], size);
      const Dim stop = slice_end(each.parts[1], size, start);
      const FlowItem step = each.parts[2].is_none() ? FlowItem::constant(1) : forced(each.parts[2]);
      if (!step.literal_int() || *step.literal_int() < 1) throw Unsupported{"a slice whose step varies"};
      view = notes_.slice(view, dim++, start, stop, *step.literal_int());
    } else if (each.known.is(Tag::Ellipsis) && each.is(Kind::Known)) {
      dim += rest;
    } else if (each.is_none()) {
      inputs_.expect_same(each);
      view = ops::unsqueeze(view, dim++);
    } else {
      throw Unsupported{"an index by " + text_of(each)};
    }
  }
  return view.is_same(x) ? ops::view(x, x.sizes()) : view;
}

namespace {

// `x[at]` with one tensor of places, which gives a copy.
bool is_gather(const std::vector<FlowItem>& items) {
  return items.size() == 1 && items[0].is(Kind::Tensor) && !is_place(items[0]);
}

}  // namespace

FlowItem FlowReader::get_index(const FlowItem& owner, const FlowItem& index) {
  const FlowItem object = forced(owner);
  if (!object.is(Kind::Tensor)) return list_item(object, index);
  std::vector<FlowItem> items = index.is(Kind::Tuple) ? index.parts : std::vector{index};
  for (FlowItem& each : items) each = forced(each);
  if (is_gather(items)) {
    const IndexItem item = IndexItem::of(items[0].tensor);
    return notes_.item_of(kiln::get_index(object.tensor, {&item, 1}));
  }
  return notes_.item_of(indexed(object.tensor, items));
}

void FlowReader::note_write(const Tensor& x) {
  if (!notes_.is_made(x)) inputs_.expect_written(x);
}

void FlowReader::set_index(const FlowItem& owner, const FlowItem& index, const FlowItem& given) {
  const FlowItem object = forced(owner), value = forced(given);
  if (object.is(Kind::Known) && object.known.is(Tag::Dict)) {
    const auto found = entry(object, forced(index));
    if (!found) throw Unsupported{"a dict gets a key"};
    return assign(*found, value);
  }
  if (object.is(Kind::Known) && object.known.is(Tag::List)) return set_number(object, forced(index), value);
  if (!object.is(Kind::Tensor)) throw Unsupported{"an item of " + text_of(object) + " is assigned"};
  if (!value.is(Kind::Tensor) && !value.is(Kind::Number))
    throw Unsupported{text_of(value) + " is stored in a tensor"};
  std::vector<FlowItem> items = index.is(Kind::Tuple) ? index.parts : std::vector{index};
  for (FlowItem& each : items) each = forced(each);
  note_write(object.tensor);
  if (is_gather(items)) {
    const IndexItem item = IndexItem::of(items[0].tensor);
    return kiln::set_index(object.tensor, {&item, 1}, operand_tensor(value));
  }
  kiln::set_index(indexed(object.tensor, items), {}, operand_tensor(value));
}

// ---- Lists and tuples ----

FlowItem FlowReader::part_of(const FlowItem& known, std::int64_t place) {
  const auto& items =
      known.known.is(Tag::List) ? known.known.as<List>().items : known.known.as<Tuple>().items;
  const auto size = static_cast<std::int64_t>(items.size());
  if (place < 0) place += size;
  if (place < 0 || place >= size) throw Unsupported{"an index that is out of range"};
  const Value& item = items[static_cast<std::size_t>(place)];
  if (known.source < 0) return FlowItem::constant(item);
  inputs_.expect_length(known);
  const std::string text = "[" + std::to_string(place) + "]";
  return FlowItem::at(item, inputs_.part(known.source, Source::Kind::Item, place, text));
}

// Of numbers of one kind the one at a place that is known to be within.
FlowItem FlowReader::chosen(const std::vector<FlowItem>& items, const FlowItem& place) {
  constexpr std::size_t kMostItems = 32;
  if (const auto literal = place.literal_int()) return items[static_cast<std::size_t>(*literal)];
  if (items.size() > kMostItems) throw Unsupported{"an index that varies of a long tuple"};
  FlowItem item = forced(items[0]);
  for (std::size_t k = 1; k < items.size(); ++k) {
    const FlowItem other = forced(items[k]);
    if (!item.is(Kind::Number) || !other.is(Kind::Number) || other.dtype != item.dtype)
      throw Unsupported{"an index that varies of a tuple of other items than numbers of one kind"};
    const FlowItem is_there =
        numbers_compared(lang::CompareOp::Eq, place, FlowItem::constant(static_cast<std::int64_t>(k)));
    item = notes_.apply(jit::NumberOp::Select, item.dtype, {is_there, other, item}, false);
  }
  return item;
}

FlowItem FlowReader::list_item(const FlowItem& list, const FlowItem& index) {
  const FlowItem place = forced(index);
  const auto counted = [&](const std::vector<FlowItem>& items) {
    const auto size = static_cast<std::int64_t>(items.size());
    const auto literal = place.literal_int();
    if (literal && (*literal < -size || *literal >= size)) throw Unsupported{"an index that is out of range"};
    if (literal) return chosen(items, FlowItem::constant(*literal < 0 ? *literal + size : *literal));
    return chosen(items,
                  FlowItem::number(DType::I64, jit::Operand::of_number(notes_.index(whole(place), size))));
  };
  if (list.is(Kind::Tuple) || list.is(Kind::List)) return counted(list.parts);
  if (list.is(Kind::Known) && list.known.is(Tag::Dict)) {
    if (const auto found = entry(list, place)) return value_of(*found);
  }
  if (is_text(list)) return letter_at(list, place);
  const bool is_known = list.is(Kind::Known) && (list.known.is(Tag::List) || list.known.is(Tag::Tuple));
  if (!is_known) throw Unsupported{"an item of " + text_of(list)};
  if (is_written_list(list)) return number_at(list, place);
  if (const auto literal = place.literal_int()) return part_of(list, *literal);
  return list.known.is(Tag::List) ? number_at(list, place) : counted(items_of(list));
}

std::vector<FlowItem> FlowReader::items_of(const FlowItem& item) {
  if (item.is(Kind::Tuple) || item.is(Kind::List)) return item.parts;
  const bool is_known = item.is(Kind::Known) && (item.known.is(Tag::List) || item.known.is(Tag::Tuple));
  if (!is_known || is_written_list(item)) throw Unsupported{text_of(item) + " is unpacked"};
  const auto& values = item.known.is(Tag::List) ? item.known.as<List>().items : item.known.as<Tuple>().items;
  inputs_.expect_length(item);
  std::vector<FlowItem> items;
  for (std::size_t k = 0; k < values.size(); ++k)
    items.push_back(part_of(item, static_cast<std::int64_t>(k)));
  return items;
}

}  // namespace kiln::interp::capture
