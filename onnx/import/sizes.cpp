// Arithmetic on numbers that follow sizes which are symbols, as models do it to make shapes.
#include <algorithm>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

using OnSizes = std::optional<Value> (*)(Call& call);

bool is_scalar(const Call& call, std::size_t i) {
  const Value& value = call.inputs[i];
  return value.sizes ? value.is_scalar : value.tensor.rank() == 0;
}

// Two lists of one length, or one number and a list.
template <Dim (*F)(Dim, Dim)>
std::optional<Value> binary(Call& call) {
  const Dims a = call.ints(0);
  const Dims b = call.ints(1);
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Dims result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    result.push_back(F(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return numbers_value(result, is_scalar(call, 0) && is_scalar(call, 1));
}

Dim add(Dim a, Dim b) { return a + b; }
Dim subtract(Dim a, Dim b) { return a - b; }
Dim multiply(Dim a, Dim b) { return a * b; }
Dim quotient(Dim a, Dim b) { return floor_div(a, b); }
Dim rest(Dim a, Dim b) { return floor_mod(a, b); }
Dim larger(Dim a, Dim b) { return max(a, b); }
Dim smaller(Dim a, Dim b) { return min(a, b); }

// Sizes are not negative, so that toward zero is down.
std::optional<Value> divide(Call& call) {
  for (const std::size_t i : {0, 1}) {
    for (const Dim each : call.ints(i)) {
      if (each < 0) return std::nullopt;
    }
  }
  return binary<quotient>(call);
}

std::optional<Value> gather(Call& call) {
  if (call.inputs[1].sizes || !call.inputs[0].sizes || call.inputs[0].is_scalar) return std::nullopt;
  const Dims from = call.ints(0);
  Dims result;
  for (const Dim each : call.ints(1))
    result.push_back(from[static_cast<std::size_t>(call.axis(each.known(), static_cast<int>(from.size())))]);
  return call.x(1).rank() > 1 ? std::nullopt : std::optional(numbers_value(result, call.x(1).rank() == 0));
}

std::optional<Value> slice(Call& call) {
  if (!call.inputs[0].sizes || call.opset() < 10) return std::nullopt;
  const Dims from = call.ints(0);
  const std::int64_t count = static_cast<std::int64_t>(from.size());
  const std::int64_t step = call.has(4) ? call.an_int(4).fixed() : 1;
  std::int64_t start = call.an_int(1).fixed();
  std::int64_t end = call.an_int(2).fixed();
  if (step == 0) call.refuse("has steps of 0");
  if (start < 0) start += count;
  if (end < 0) end += end < -count ? 0 : count;
  Dims result;
  if (step > 0) {
    for (std::int64_t i = std::max<std::int64_t>(start, 0); i < std::min(end, count) && end >= 0; i += step)
      result.push_back(from[static_cast<std::size_t>(i)]);
  } else {
    const std::int64_t last = call.an_int(2).fixed() < -count ? -1 : end;
    for (std::int64_t i = std::min(start, count - 1); i > last && i >= 0; i += step)
      result.push_back(from[static_cast<std::size_t>(i)]);
  }
  return numbers_value(result);
}

std::optional<Value> concat(Call& call) {
  Dims result;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    for (const Dim each : call.ints(i)) result.push_back(each);
  }
  return numbers_value(result);
}

std::optional<Value> squeeze(Call& call) {
  const Dims numbers = call.ints(0);
  return numbers.size() == 1 ? std::optional(numbers_value(numbers, true)) : std::nullopt;
}

std::optional<Value> unsqueeze(Call& call) {
  return call.inputs[0].is_scalar ? std::optional(numbers_value(call.ints(0))) : std::nullopt;
}

std::optional<Value> reshape(Call& call) {
  if (!call.inputs[0].sizes) return std::nullopt;  // a tensor with a shape that follows sizes
  const Dims numbers = call.ints(0);
  const Dims shape = call.ints(1);
  if (shape.size() == 1) return numbers_value(numbers);
  return shape.empty() && numbers.size() == 1 ? std::optional(numbers_value(numbers, true)) : std::nullopt;
}

std::optional<Value> cast(Call& call) {
  const bool is_whole = call.integer("to", 0) == static_cast<int>(ElementType::Int64);
  return is_whole ? std::optional(call.inputs[0]) : std::nullopt;
}

std::optional<Value> identity(Call& call) { return call.inputs[0]; }

std::optional<Value> product_of(Call& call) {
  return numbers_value(Dims{product(call.ints(0))}, call.integer("keepdims", 1) == 0);
}

std::optional<Value> shape(Call& call) {
  const auto count = static_cast<std::int64_t>(call.inputs[0].sizes->size());
  return call.inputs[0].is_scalar ? numbers_value({}) : numbers_value(Dims{count});
}

struct Row {
  std::string_view name;
  OnSizes run;
};
constexpr Row kRows[] = {
    {"Add", binary<add>},       {"Cast", cast},
    {"Concat", concat},         {"Div", divide},
    {"Gather", gather},         {"Identity", identity},
    {"Max", binary<larger>},    {"Min", binary<smaller>},
    {"Mod", binary<rest>},      {"Mul", binary<multiply>},
    {"ReduceProd", product_of}, {"Reshape", reshape},
    {"Shape", shape},           {"Slice", slice},
    {"Squeeze", squeeze},       {"Sub", binary<subtract>},
    {"Unsqueeze", unsqueeze},
};

bool is_number_list(const Call& call, std::size_t i) {
  const Value& value = call.inputs[i];
  if (value.sizes || !value.exists()) return true;
  return value.tensor && value.tensor.dtype() == DType::I64 && value.tensor.rank() <= 1 && call.knows(i);
}

}  // namespace

std::optional<Value> on_sizes(Call& call) {
  for (const Row& row : kRows) {
    if (row.name != call.node().op_type) continue;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!is_number_list(call, i)) return std::nullopt;
    }
    return row.run(call);
  }
  return std::nullopt;
}

}  // namespace kiln::onnx
