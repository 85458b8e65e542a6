// Lists of numbers that the program has: the flow reads and writes them as tensors, and their lengths are
// carried like variables where they change.
#include "interpreter/capture/flow/reader.h"
#include "tensor/functions.h"
#include "tensor/indexing.h"

namespace kiln::interp::capture {

using jit::NumberOp;
using Kind = FlowItem::Kind;
using lang::BinaryOp;

bool FlowReader::is_written_list(const FlowItem& item) {
  return item.is(Kind::Known) && item.known.is(Tag::List) &&
         inputs_.is_written(inputs_.owner(item.known, item.source));
}

FlowVariable FlowReader::length_variable(const FlowItem& list) {
  const SourceId owner = inputs_.owner(list.known, list.source);
  return {inputs_.part(owner, Source::Kind::Length, 0, "'s length"),
          static_cast<std::int64_t>(list.known.as<List>().items.size())};
}

FlowReader::NumberList FlowReader::number_list(const FlowItem& list) {
  const SourceId owner = inputs_.owner(list.known, list.source);
  if (inputs_.appends_tensors(owner))
    throw Unsupported{"`" + flow_.sources[owner].text + "`, which gets tensors, is read"};
  const Tensor numbers = inputs_.numbers(list.known, owner).tensor;
  if (inputs_.grows(owner)) return {numbers, forced(value_of(length_variable(list)))};
  return {numbers, FlowItem::number(DType::I64, jit::Operand::of_number(numbers.size(0)))};
}

// The element that an int counts, as a tensor without dimensions that shares the list's memory.
Tensor FlowReader::element_of(const NumberList& list, const FlowItem& index) {
  return ops::select(list.numbers, 0, notes_.index(whole(index), notes_.size_of(list.length)));
}

FlowItem FlowReader::number_at(const FlowItem& list, const FlowItem& index) {
  return notes_.item(element_of(number_list(list), index));
}

void FlowReader::set_number(const FlowItem& list, const FlowItem& index, const FlowItem& value) {
  if (!value.is(Kind::Number)) throw Unsupported{text_of(value) + " becomes an item of a list"};
  inputs_.expect_list_written(list.known, inputs_.owner(list.known, list.source), value.dtype, false);
  kiln::set_index(element_of(number_list(list), index), {}, operand_tensor(value));
}

void FlowReader::append(const FlowItem& list, const FlowItem& given) {
  const FlowItem value = forced(given);
  value.is(Kind::Tensor) ? append_tensor(list, value.tensor) : append_number(list, value);
}

// Where the tensor is full, the interpreter appends, and the flow begins again with a larger one.
void FlowReader::append_number(const FlowItem& list, const FlowItem& value) {
  if (!value.is(Kind::Number)) throw Unsupported{text_of(value) + " is appended to a list"};
  inputs_.expect_list_written(list.known, inputs_.owner(list.known, list.source), value.dtype, true);
  const NumberList now = number_list(list);
  const Tensor place = ops::select(now.numbers, 0, notes_.index(now.length, now.numbers.size(0)));
  const FlowItem length = numbers_binary(BinaryOp::Add, now.length, FlowItem::one());
  kiln::set_index(place, {}, operand_tensor(value));
  assign(length_variable(list), length);
}

FlowItem FlowReader::pop_number(const FlowItem& list) {
  const auto& items = list.known.as<List>().items;
  if (items.empty() || !items[0].is_number()) throw Unsupported{"an item is taken out of a list"};
  inputs_.expect_list_written(list.known, inputs_.owner(list.known, list.source),
                              FlowItem::constant(items[0]).dtype, true);
  const NumberList now = number_list(list);
  const FlowItem last = notes_.item(element_of(now, FlowItem::constant(std::int64_t{-1})));
  assign(length_variable(list), numbers_binary(BinaryOp::Sub, now.length, FlowItem::one()));
  return last;
}

// Nothing for a method that a flow does not know.
std::optional<FlowItem> FlowReader::list_method(const FlowItem& list, std::string_view name,
                                                const std::vector<FlowItem>& arguments) {
  if (name == "append" && arguments.size() == 1) {
    append(list, arguments[0]);
    return FlowItem{};
  }
  if (name == "pop" && arguments.empty()) return pop_number(list);
  return std::nullopt;
}

}  // namespace kiln::interp::capture
