// Boxes in images: which of them are kept, and what is within them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/import/call.h"
#include "tensor/functions.h"
#include "tensor/interrupt.h"

namespace kiln::onnx {
namespace {

// ---- NonMaxSuppression ----

struct Box {
  float low[2], high[2];
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Two opposite corners in any order, or the middle and the size.
Box box_of(const double* four, bool is_center) {
  Box box{};
  for (int d = 0; d < 2; ++d) {
    const auto a = static_cast<float>(four[d]), b = static_cast<float>(four[d + 2]);
    box.low[d] = is_center ? a - b / 2 : std::min(a, b);
    box.high[d] = is_center ? a + b / 2 : std::max(a, b);
  }
  return box;
}

// Is the shared part of the union of both larger than the threshold?
bool overlaps(const Box& a, const Box& b, float threshold) {
  float shared = 1;
  for (int d = 0; d < 2; ++d)
    shared *= std::max(std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]), 0.0F);
  if (shared <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  return shared / (a.area() + b.area() - shared) > threshold;
}

struct Suppression {
  std::size_t most = 0;  // boxes kept of a class
  float overlap = 0;
  std::optional<float> least_score;
};

// The best box is kept, then the best of those that do not overlap one that was kept. Of equal scores the
// first box is better.
std::vector<std::size_t> kept_boxes(const std::vector<Box>& boxes, const double* scores,
                                    const Suppression& rule) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!rule.least_score || static_cast<float>(scores[i]) > *rule.least_score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [scores](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::size_t> kept;
  for (const std::size_t each : order) {
    if (kept.size() >= rule.most) break;
    check_interrupt();
    const bool is_hidden = std::any_of(kept.begin(), kept.end(), [&](std::size_t other) {
      return overlaps(boxes[each], boxes[other], rule.overlap);
    });
    if (!is_hidden) kept.push_back(each);
  }
  return kept;
}

// How many boxes are kept depends on elements, which must be known.
Values non_max_suppression(Call& call) {
  const Tensor boxes = call.x(0), scores = call.x(1);  // [n, boxes, 4], [n, classes, boxes]
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.size(2) != 4 || boxes.size(1) != scores.size(2) ||
      boxes.size(0) != scores.size(0))
    call.refuse("needs boxes [n, count, 4] and scores [n, classes, count]");
  const std::vector<double> corners = call.numbers(0), all_scores = call.numbers(1);
  Suppression rule;
  if (call.has(2)) rule.most = static_cast<std::size_t>(std::max(call.number(2, 0), 0.0));
  rule.overlap = static_cast<float>(call.number(3, 0));
  if (call.has(4)) rule.least_score = static_cast<float>(call.number(4, 0));
  const bool is_center = call.integer("center_point_box", 0) != 0;
  const std::int64_t count = boxes.size(1).fixed(), classes = scores.size(1).fixed();
  std::vector<std::int64_t> chosen;  // image, class, box
  for (std::int64_t n = 0; n < boxes.size(0).fixed(); ++n) {
    std::vector<Box> here;
    for (std::int64_t i = 0; i < count; ++i)
      here.push_back(box_of(corners.data() + 4 * (n * count + i), is_center));
    for (std::int64_t c = 0; c < classes; ++c) {
      for (const std::size_t i : kept_boxes(here, all_scores.data() + (n * classes + c) * count, rule))
        chosen.insert(chosen.end(), {n, c, static_cast<std::int64_t>(i)});
    }
  }
  return {ops::reshape(whole_numbers(chosen), Dims{static_cast<std::int64_t>(chosen.size() / 3), 3})};
}

// ---- RoiAlign ----

// Samples along one dimension: of each region its bins, of each bin as many as its grid has.
struct Samples {
  Tensor low, high;                // i64[regions, samples]: the elements that a sample lies between
  Tensor low_weight, high_weight;  // [regions, samples], 0 outside of the image
  Tensor exists;                   // bool[regions, samples]: grids of others may have more
  Tensor grid;                     // [regions]
  Dim per_bin;
};

Samples samples_along(const Tensor& start, const Tensor& length, std::int64_t bins, std::int64_t ratio,
                      double size) {
  const Tensor bin = length / static_cast<double>(bins);
  Samples made;
  made.grid = ratio > 0 ? ops::full_like(bin, static_cast<double>(ratio)) : ops::ceil(bin);
  std::int64_t most = ratio;
  if (ratio <= 0) {
    const Tensor largest = number_of(ops::amax(made.grid));
    most = std::max<std::int64_t>(static_cast<std::int64_t>(largest.item_float()), 1);
  }
  made.per_bin = most;
  const DType dtype = bin.dtype();
  const auto whole = [dtype](std::int64_t count, const Dims& sizes) {
    return ops::reshape(ops::to(ops::arange(0, count), dtype), sizes);
  };
  const Dims apart{-1, 1, 1}, together{start.size(0), bins * most};
  const auto of_region = [&apart](const Tensor& numbers) { return ops::reshape(numbers, apart); };
  const Tensor number = whole(most, Dims{1, 1, most});
  const Dims all{start.size(0), bins, most};
  Tensor place = of_region(start) + whole(bins, Dims{1, bins, 1}) * of_region(bin);
  place = place + (number + 0.5) * of_region(bin) / of_region(made.grid);
  place = ops::reshape(ops::expand(place, all), together);
  made.exists = ops::reshape(ops::expand(ops::lt(number, of_region(made.grid)), all), together);
  const Tensor is_inside =
      ops::logical_and(ops::ge(place, scalar(-1, dtype)), ops::le(place, scalar(size, dtype)));
  const Tensor counts = ops::logical_and(is_inside, made.exists);
  place = ops::clamp(place, 0, size - 1);
  const Tensor floor = ops::floor(place);
  const Tensor rest = place - floor, zero = scalar(0, dtype);
  made.low_weight = ops::where(counts, 1.0 - rest, zero);
  made.high_weight = ops::where(counts, rest, zero);
  made.low = ops::to(floor, DType::I64);
  made.high = ops::to(ops::clamp(floor + 1.0, 0, size - 1), DType::I64);
  return made;
}

// For each of the four elements around a sample, weighted: [regions, channels, rows, columns].
std::vector<Tensor> weighted_neighbours(const Tensor& images, const Samples& y, const Samples& x) {
  const Dim channels = images.size(1), width = images.size(3);
  const Dims flat{images.size(0), channels, images.size(2) * width};
  const Tensor elements = ops::reshape(images, flat);
  const Dims places{images.size(0), 1, y.low.size(1) * x.low.size(1)};
  const Dims spread{images.size(0), channels, places[2]};
  const Dims apart{images.size(0), channels, y.low.size(1), x.low.size(1)};
  std::vector<Tensor> made;
  for (const bool is_high_y : {false, true}) {
    for (const bool is_high_x : {false, true}) {
      const Tensor row = ops::unsqueeze(is_high_y ? y.high : y.low, 2),
                   column = ops::unsqueeze(is_high_x ? x.high : x.low, 1);
      const Tensor index = ops::reshape(ops::add(ops::mul(row, number_operand(width)), column), places);
      const Tensor taken =
          ops::reshape(ops::gather(elements, 2, ops::contiguous(ops::expand(index, spread))), apart);
      const Tensor weight = ops::unsqueeze(is_high_y ? y.high_weight : y.low_weight, 2) *
                            ops::unsqueeze(is_high_x ? x.high_weight : x.low_weight, 1);
      made.push_back(ops::to(taken, weight.dtype()) * ops::unsqueeze(weight, 1));
    }
  }
  return made;
}

Values roi_align(Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t ratio = call.integer("sampling_ratio", 0);
  // How many samples a region has depends on it, unless the model says so.
  if (ratio <= 0) static_cast<void>(call.numbers(1));
  const Tensor given = ratio <= 0 && call.inputs[1].elements ? call.inputs[1].elements : call.x(1);
  const DType dtype = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  const std::string how =
      call.word("coordinate_transformation_mode", call.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  const bool is_half_pixel = how == "half_pixel";
  const Tensor regions = ops::to(given, dtype) * call.real("spatial_scale", 1) - (is_half_pixel ? 0.5 : 0.0);
  const std::int64_t bins[] = {call.integer("output_height", 1), call.integer("output_width", 1)};
  if (x.rank() != 4 || regions.rank() != 2 || regions.size(1) != 4 || bins[0] < 1 || bins[1] < 1)
    call.refuse("needs images [n, channels, height, width] and regions [count, 4]");
  const auto along = [&](int d) {  // 0: rows, which a region names second
    const Tensor start = ops::select(regions, 1, 1 - d);
    Tensor length = ops::select(regions, 1, 3 - d) - start;
    if (!is_half_pixel) length = ops::clamp(length, 1, std::nullopt);
    return samples_along(start, length, bins[d], ratio, static_cast<double>(x.size(2 + d).fixed()));
  };
  const Samples rows = along(0), columns = along(1);
  const Tensor images = ops::index_select(x, 0, ops::to(call.x(2), DType::I64));
  const std::vector<Tensor> parts = weighted_neighbours(images, rows, columns);
  const Dims apart{images.size(0), x.size(1), bins[0], rows.per_bin, bins[1], columns.per_bin};
  const Dims grids{3, 5};
  if (call.word("mode", "avg") == "avg") {
    const Tensor sum = ops::sum(ops::reshape(parts[0] + parts[1] + parts[2] + parts[3], apart), grids);
    const Tensor count = ops::clamp(rows.grid * columns.grid, 1, std::nullopt);
    return {ops::to(sum / ops::reshape(count, Dims{-1, 1, 1, 1}), x.dtype())};
  }
  // The largest of the four weighted elements of all samples, as the operator has it.
  Tensor best = ops::maximum(ops::maximum(parts[0], parts[1]), ops::maximum(parts[2], parts[3]));
  const Tensor exists = ops::logical_and(ops::unsqueeze(rows.exists, 2), ops::unsqueeze(columns.exists, 1));
  best = ops::where(ops::unsqueeze(exists, 1), best, scalar(-std::numeric_limits<double>::infinity(), dtype));
  best = ops::amax(ops::reshape(best, apart), grids);
  const Tensor has_some = ops::ge(ops::minimum(rows.grid, columns.grid), scalar(1, dtype));
  return {ops::to(ops::where(ops::reshape(has_some, Dims{-1, 1, 1, 1}), best, scalar(0, dtype)), x.dtype())};
}

constexpr Operator kBoxesOperators[] = {
    {"NonMaxSuppression", non_max_suppression},
    {"RoiAlign", roi_align},
};

}  // namespace

std::span<const Operator> box_operators() { return kBoxesOperators; }

}  // namespace kiln::onnx
