// Shapes: what they are, and elements in other arrangements.
#include <algorithm>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values shape(Call& call) {
  const Dims sizes = call.x(0).sizes();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto place = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(call.integer("start", 0));
  const std::int64_t end = place(call.integer("end", rank));
  return {numbers_value(start < end ? Dims(sizes.begin() + start, sizes.begin() + end) : Dims())};
}

Values size(Call& call) { return {numbers_value(Dims{call.x(0).numel()}, true)}; }

// 0 stands for the size that the input has there, and -1 for what is left.
Values reshape(Call& call) {
  const Tensor x = call.x(0);
  Dims sizes = *call.ints_or_attribute(1, "shape");
  const bool zero_is_zero = call.integer("allowzero", 0) != 0;
  std::size_t open = sizes.size();
  Dim others = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_known() && sizes[i].known() == 0 && !zero_is_zero) {
      if (static_cast<int>(i) >= x.rank()) call.refuse("keeps a size that its input does not have");
      sizes[i] = x.size(static_cast<int>(i));
    }
    if (sizes[i].is_known() && sizes[i].known() == -1) {
      if (open < sizes.size()) call.refuse("leaves two sizes open");
      open = i;
    } else {
      others *= sizes[i];
    }
  }
  if (open < sizes.size()) sizes[open] = others == 0 ? Dim() : floor_div(x.numel(), others);
  return {ops::reshape(x, sizes)};
}

Values transpose(Call& call) {
  const Tensor x = call.x(0);
  std::optional<Dims> order = call.dims("perm");
  if (!order) {
    order.emplace();
    for (int d = x.rank(); d-- > 0;) order->push_back(d);
  }
  return {ops::permute(x, *order)};
}

Values flatten(Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t given = call.integer("axis", 1);
  const int axis = given == x.rank() ? x.rank() : call.axis(given, x.rank());
  const std::span<const Dim> sizes = x.sizes();
  const auto at = static_cast<std::size_t>(axis);
  return {ops::reshape(x, Dims{product(sizes.first(at)), product(sizes.subspan(at))})};
}

Values squeeze(Call& call) {
  const Tensor x = call.x(0);
  const std::optional<Dims> given = call.ints_or_attribute(1, "axes");
  const std::vector<int> axes = given ? call.axes(*given, x.rank()) : std::vector<int>();
  Dims sizes;
  for (int d = 0; d < x.rank(); ++d) {
    const bool is_named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (is_named && x.size(d) != 1)
      call.refuse("drops a dimension of " + to_string(x.type()) + " that is not 1");
    if (given ? !is_named : x.size(d) != 1) sizes.push_back(x.size(d));
  }
  return {ops::reshape(x, sizes)};
}

Values unsqueeze(Call& call) {
  const Tensor x = call.x(0);
  const Dims given = *call.ints_or_attribute(1, "axes");
  std::vector<int> axes = call.axes(given, x.rank() + static_cast<int>(given.size()));
  std::sort(axes.begin(), axes.end());
  Dims sizes = x.sizes();
  for (const int axis : axes) {
    Dims now(sizes.begin(), sizes.begin() + axis);
    now.push_back(1);
    for (auto rest = static_cast<std::size_t>(axis); rest < sizes.size(); ++rest) now.push_back(sizes[rest]);
    sizes = now;
  }
  return {ops::reshape(x, sizes)};
}

Values concat(Call& call) {
  const std::vector<Tensor> parts = call.tensors();
  if (parts.empty()) call.refuse("joins nothing");
  return {ops::cat(parts, call.axis(call.integer("axis", 1), parts[0].rank()))};
}

Values split(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  std::optional<Dims> pieces = call.ints_or_attribute(1, "split");
  if (!pieces) {
    const std::int64_t count =
        call.integer("num_outputs", static_cast<std::int64_t>(call.node().outputs.size()));
    if (count <= 0) call.refuse("splits into " + std::to_string(count) + " pieces");
    const Dim each = ceil_div(x.size(axis), count);
    pieces = Dims(static_cast<std::size_t>(count), each);
    pieces->back() = x.size(axis) - each * (count - 1);
  }
  Values parts;
  Dim start = 0;
  for (const Dim length : *pieces) {
    parts.push_back(ops::narrow(x, axis, start, length));
    start += length;
  }
  if (start != x.size(axis)) call.refuse("splits another size than " + to_string(x.type()) + " has");
  return parts;
}

// With steps below 0 from the end: of the reversed tensor.
Tensor sliced(Call& call, const Tensor& x, int axis, Dim start, Dim end, std::int64_t step) {
  if (step == 0) call.refuse("has steps of 0");
  if (step > 0) return ops::slice(x, axis, start, end, step);
  const Dim size = x.size(axis);
  const auto place = [&](Dim at) {
    if (at < 0) at = at < -size ? Dim(-1) : at + size;
    return at >= size ? size - 1 : at;
  };
  const Dim first = size - 1 - place(start);
  const Dim last = size - 1 - place(end);
  if (last <= first) return ops::narrow(x, axis, 0, 0);
  return ops::slice(ops::flip(x, Dims{axis}), axis, first, last, -step);
}

Values slice(Call& call) {
  Tensor x = call.x(0);
  const bool has_inputs = call.opset() >= 10;
  const Dims starts = has_inputs ? call.ints(1) : call.dims("starts").value_or(Dims());
  const Dims ends = has_inputs ? call.ints(2) : call.dims("ends").value_or(Dims());
  Dims axes;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (has_inputs && call.has(3)) axes = call.ints(3);
  if (!has_inputs && call.dims("axes")) axes = *call.dims("axes");
  const Dims steps = has_inputs && call.has(4) ? call.ints(4) : Dims(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.refuse("has " + std::to_string(starts.size()) + " starts, and not as many ends, axes and steps");
  const std::vector<int> along = call.axes(axes, x.rank());
  for (std::size_t i = 0; i < starts.size(); ++i)
    x = sliced(call, x, along[i], starts[i], ends[i], steps[i].fixed());
  return {x};
}

Values expand(Call& call) {
  const Tensor x = call.x(0);
  Dims sizes = call.ints(1);
  const int missing = static_cast<int>(sizes.size()) - x.rank();
  for (int d = missing; d < 0; ++d) sizes.insert(sizes.begin(), Dim(1));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int own = static_cast<int>(i) - std::max(missing, 0);
    if (own >= 0 && sizes[i].is_known() && sizes[i].known() == 1) sizes[i] = x.size(own);
  }
  return {ops::expand(x, sizes)};
}

Values tile(Call& call) { return {apply("tile", {call.x(0)}, {{"dims", call.ints(1)}})}; }

Values depth_to_space(Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (b < 1 || x.rank() != 4) call.refuse("needs blocks of at least 1, and a tensor of rank 4");
  const Dim n = x.size(0), c = floor_div(x.size(1), b * b), h = x.size(2), w = x.size(3);
  const bool is_crd = call.word("mode", "DCR") == "CRD";
  const Tensor parts = ops::reshape(x, is_crd ? Dims{n, c, b, b, h, w} : Dims{n, b, b, c, h, w});
  const Tensor moved = ops::permute(parts, is_crd ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2});
  return {ops::reshape(moved, Dims{n, c, h * b, w * b})};
}

Values space_to_depth(Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (b < 1 || x.rank() != 4) call.refuse("needs blocks of at least 1, and a tensor of rank 4");
  const Dim n = x.size(0), c = x.size(1), h = floor_div(x.size(2), b), w = floor_div(x.size(3), b);
  const bool is_crd = call.word("mode", "DCR") == "CRD";
  const Tensor parts = ops::reshape(x, Dims{n, c, h, b, w, b});
  const Tensor moved = ops::permute(parts, is_crd ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4});
  return {ops::reshape(moved, Dims{n, c * b * b, h, w})};
}

Values triangle(Call& call) {
  const Tensor x = call.x(0);
  const Dim diagonal = call.has(1) ? call.an_int(1) : Dim();
  return {call.integer("upper", 1) != 0 ? ops::triu(x, diagonal) : ops::tril(x, diagonal)};
}

constexpr Operator kShapeOperators[] = {
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Reshape", reshape},
    {"Shape", shape},
    {"Size", size},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Trilu", triangle},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace kiln::onnx
