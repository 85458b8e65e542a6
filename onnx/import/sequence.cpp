// Sequences and optional values, which exist while the model is imported alone.
#include <algorithm>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values empty_sequence(Call&) { return {Value::sequence({})}; }
Values construct(Call& call) { return {Value::sequence(call.inputs)}; }
Values length(Call& call) {
  return {numbers_value(Dims{static_cast<std::int64_t>(call.items(0).size())}, true)};
}

// A place in the sequence; one more than the last where something is put in.
std::size_t place(Call& call, std::size_t input, std::size_t count, bool may_be_end) {
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t given = call.an_int(input).fixed();
  const std::int64_t at = given < 0 ? given + size : given;
  if (at < 0 || at >= size + (may_be_end ? 1 : 0))
    call.refuse("takes the place " + std::to_string(given) + " of a sequence of " + std::to_string(size));
  return static_cast<std::size_t>(at);
}

Values item(Call& call) {
  const Values& items = call.items(0);
  return {items[place(call, 1, items.size(), false)]};
}

Values insert(Call& call) {
  Values items = call.items(0);
  const std::size_t at = call.has(2) ? place(call, 2, items.size(), true) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), call.inputs.at(1));
  return {Value::sequence(std::move(items))};
}

Values erase(Call& call) {
  Values items = call.items(0);
  if (items.empty()) call.refuse("takes from an empty sequence");
  const std::size_t at = call.has(1) ? place(call, 1, items.size(), false) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return {Value::sequence(std::move(items))};
}

Values concat_sequence(Call& call) {
  std::vector<Tensor> parts;
  for (const Value& each : call.items(0)) {
    if (!each.tensor) call.refuse("joins what is no tensor");
    parts.push_back(each.tensor);
  }
  if (parts.empty()) call.refuse("joins an empty sequence");
  const bool is_new = call.integer("new_axis", 0) != 0;
  const int axis = call.axis(call.integer("axis", 0), parts[0].rank() + (is_new ? 1 : 0));
  return {is_new ? ops::stack(parts, axis) : ops::cat(parts, axis)};
}

Values split_to_sequence(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  const std::int64_t size = x.size(axis).fixed();
  Dims pieces;
  bool keeps = true;
  if (!call.has(1)) {
    pieces = Dims(static_cast<std::size_t>(size), 1);
    keeps = call.integer("keepdims", 1) != 0;
  } else if (call.x(1).rank() == 0) {
    const std::int64_t each = call.an_int(1).fixed();
    if (each < 1) call.refuse("splits into pieces of " + std::to_string(each));
    for (std::int64_t left = size; left > 0; left -= each) pieces.push_back(std::min(each, left));
  } else {
    pieces = call.ints(1);
  }
  Values items;
  Dim start = 0;
  for (const Dim each : pieces) {
    const Tensor part = ops::narrow(x, axis, start, each);
    items.push_back(keeps ? part : ops::squeeze(part, Dims{axis}));
    start += each;
  }
  if (start != size) call.refuse("splits another size than " + to_string(x.type()) + " has");
  return {Value::sequence(std::move(items))};
}

// The body runs for each item of the first sequence; other sequences give theirs beside it.
Values map(Call& call) {
  const std::size_t count = call.items(0).size();
  const std::size_t outputs = call.graph("body").outputs.size();
  std::vector<Values> results(outputs);
  for (std::size_t i = 0; i < count; ++i) {
    Values given;
    for (const Value& each : call.inputs) {
      if (each.items && each.items->size() != count) call.refuse("maps sequences of other lengths");
      given.push_back(each.items ? (*each.items)[i] : each);
    }
    Values made = call.run_graph("body", std::move(given));
    for (std::size_t k = 0; k < outputs; ++k) results[k].push_back(std::move(made[k]));
  }
  Values all;
  for (Values& each : results) all.push_back(Value::sequence(std::move(each)));
  return all;
}

Values optional(Call& call) { return {call.inputs.empty() ? Value() : call.inputs[0]}; }

Values has_element(Call& call) { return {ops::full({}, Tensor::number(call.has(0)), DType::Bool)}; }

Values get_element(Call& call) {
  if (!call.has(0)) call.refuse("takes the element of an empty optional");
  return {call.inputs[0]};
}

constexpr Operator kSequenceOperators[] = {
    {"ConcatFromSequence", concat_sequence},
    {"Optional", optional},
    {"OptionalGetElement", get_element},
    {"OptionalHasElement", has_element},
    {"SequenceAt", item},
    {"SequenceConstruct", construct},
    {"SequenceEmpty", empty_sequence},
    {"SequenceErase", erase},
    {"SequenceInsert", insert},
    {"SequenceLength", length},
    {"SequenceMap", map},
    {"SplitToSequence", split_to_sequence},
};

}  // namespace

std::span<const Operator> sequence_operators() { return kSequenceOperators; }

}  // namespace kiln::onnx
