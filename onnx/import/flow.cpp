// Control flow over graphs: branches are chosen and loops unrolled while the model is imported.
#include <algorithm>
#include <limits>

#include "onnx/import/call.h"
#include "onnx/import/evaluator.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

bool is_true(const Call& call, const Value& value) {
  if (!value.tensor || value.tensor.numel() != 1) call.refuse("needs one bool as its condition");
  const Recording& recording = call.evaluator().recording();
  if (!recording.is_known(value.tensor))
    throw UnknownElements("needs to know its condition when the graph is made",
                          recording.followed(std::span(&value.tensor, 1)));
  return value.tensor.item_bool();
}

Values branch(Call& call) {
  return call.run_graph(is_true(call, call.inputs.at(0)) ? "then_branch" : "else_branch", {});
}

// What a scan collects in each iteration becomes a dimension.
Value collected(const std::vector<Tensor>& parts, int axis, bool reversed) {
  std::vector<Tensor> in_order(parts.begin(), parts.end());
  if (reversed) std::reverse(in_order.begin(), in_order.end());
  return ops::stack(in_order, axis);
}

Values loop(Call& call) {
  const std::int64_t limit = call.has(0) ? call.an_int(0).fixed() : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !call.has(1) || is_true(call, call.inputs[1]);
  const GraphProto& body = call.graph("body");
  Values carried(call.inputs.begin() + 2, call.inputs.end());
  if (body.outputs.size() < carried.size() + 1) call.refuse("carries more values than its body gives");
  const std::size_t scans = body.outputs.size() - carried.size() - 1;
  std::vector<std::vector<Tensor>> parts(scans);
  for (std::int64_t i = 0; i < limit && goes_on; ++i) {
    Values given{numbers_value(Dims{i}, true), ops::full({}, Tensor::number(true), DType::Bool)};
    given.insert(given.end(), carried.begin(), carried.end());
    Values made = call.run_graph("body", std::move(given));
    goes_on = is_true(call, made[0]);
    carried.assign(made.begin() + 1, made.end() - static_cast<std::ptrdiff_t>(scans));
    for (std::size_t k = 0; k < scans; ++k) {
      const Value& part = made[made.size() - scans + k];
      if (!part.tensor) call.refuse("collects what is no tensor");
      parts[k].push_back(part.tensor);
    }
  }
  for (std::size_t k = 0; k < scans; ++k) {
    if (!parts[k].empty()) {
      carried.push_back(collected(parts[k], 0, false));
      continue;
    }
    const TypeProto& type = body.outputs[body.outputs.size() - scans + k].type;
    Dims sizes{0};
    for (const Dimension& each : type.shape.value_or(std::vector<Dimension>()))
      sizes.push_back(each.value.value_or(0));
    carried.push_back(Tensor::empty(sizes, dtype_of(type.element)));
  }
  return carried;
}

std::int64_t entry(const std::optional<Dims>& list, std::size_t i) {
  return list && i < list->size() ? (*list)[i].known() : 0;
}

Values scan(Call& call) {
  if (call.opset() < 9) call.refuse("is that of version 8, which has a batch");
  const auto scanned =
      static_cast<std::size_t>(std::max<std::int64_t>(call.integer("num_scan_inputs", 0), 0));
  if (scanned == 0 || scanned > call.inputs.size()) call.refuse("scans no input");
  const std::size_t states = call.inputs.size() - scanned;
  const GraphProto& body = call.graph("body");
  if (body.outputs.size() < states) call.refuse("carries more values than its body gives");
  const std::optional<Dims> axes = call.dims("scan_input_axes"),
                            backward = call.dims("scan_input_directions");
  Values carried(call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<int> along;
  for (std::size_t k = 0; k < scanned; ++k)
    along.push_back(call.axis(entry(axes, k), call.x(states + k).rank()));
  const std::int64_t count = call.x(states).size(along[0]).fixed();
  std::vector<std::vector<Tensor>> parts(body.outputs.size() - states);
  for (std::int64_t i = 0; i < count; ++i) {
    Values given = carried;
    for (std::size_t k = 0; k < scanned; ++k)
      given.push_back(ops::select(call.x(states + k), along[k], entry(backward, k) != 0 ? count - 1 - i : i));
    Values made = call.run_graph("body", std::move(given));
    carried.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!made[states + k].tensor) call.refuse("collects what is no tensor");
      parts[k].push_back(made[states + k].tensor);
    }
  }
  const std::optional<Dims> out_axes = call.dims("scan_output_axes"),
                            out_backward = call.dims("scan_output_directions");
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].empty()) call.refuse("scans nothing");
    const int axis = call.axis(entry(out_axes, k), parts[k][0].rank() + 1);
    carried.push_back(collected(parts[k], axis, entry(out_backward, k) != 0));
  }
  return carried;
}

constexpr Operator kFlowOperators[] = {
    {"If", branch},
    {"Loop", loop},
    {"Scan", scan},
};

}  // namespace

std::span<const Operator> flow_operators() { return kFlowOperators; }

}  // namespace kiln::onnx
