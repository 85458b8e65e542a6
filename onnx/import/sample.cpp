// Images at places that a grid names, and grids.
#include "onnx/import/call.h"
#include "onnx/import/window.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

struct Sampling {
  Tensor x;  // [n, channels, places]
  Dims sizes;
  std::string padding;
  bool align = false;
};

// Reflected at the borders until it is within.
Tensor reflected(const Tensor& place, double low, double high) {
  const double span = high - low;
  if (span <= 0) return ops::zeros_like(place);
  const Tensor away = ops::abs(place - low);
  const Tensor turns = ops::floor(away / span);
  const Tensor rest = away - turns * span;
  const Tensor is_even = ops::eq(ops::remainder(turns, Tensor::number(2.0)), scalar(0, place.dtype()));
  return ops::where(is_even, rest + low, high - rest);
}

// Places between elements, as the padding takes those outside.
Tensor placed(const Sampling& from, const Tensor& grid, std::size_t d) {
  const double size = static_cast<double>(from.sizes[d].fixed());
  Tensor place = from.align ? (grid + 1.0) * ((size - 1) / 2) : ((grid + 1.0) * size - 1.0) / 2.0;
  if (from.padding == "border") return ops::clamp(place, 0, size - 1);
  if (from.padding != "reflection") return place;
  const double low = from.align ? 0 : -0.5;
  return reflected(place, low, from.align ? size - 1 : size - 0.5);
}

// Elements at whole places: [n, channels, count]. Outside there are zeros, or what the padding says.
Tensor elements_at(const Sampling& from, const std::vector<Tensor>& places) {
  Tensor flat, inside;
  for (std::size_t d = 0; d < places.size(); ++d) {
    const double size = static_cast<double>(from.sizes[d].fixed());
    Tensor place = places[d];
    if (from.padding == "reflection")
      place = reflected(place, from.align ? 0 : -0.5, from.align ? size - 1 : size - 0.5);
    const Tensor here = ops::logical_and(ops::ge(place, scalar(0, place.dtype())),
                                         ops::le(place, scalar(size - 1, place.dtype())));
    inside = inside ? ops::logical_and(inside, here) : here;
    const Tensor whole = ops::to(ops::clamp(place, 0, size - 1), DType::I64);
    flat = flat ? ops::add(ops::mul(flat, number_operand(from.sizes[d])), whole) : whole;
  }
  const Dims wide{from.x.size(0), from.x.size(1), flat.size(1)};
  const Tensor index = ops::contiguous(ops::expand(ops::unsqueeze(flat, 1), wide));
  const Tensor taken = ops::gather(from.x, 2, index);
  if (from.padding != "zeros") return taken;
  return ops::where(ops::unsqueeze(inside, 1), taken, scalar(0, taken.dtype()));
}

std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  const auto near = [&](const Tensor& x) { return ((x * (a + 2)) - (a + 3)) * x * x + 1.0; };
  const auto far = [&](const Tensor& x) { return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

// A sum over the neighbours along each dimension, one dimension after the other.
Tensor interpolated(const Sampling& from, const std::vector<Tensor>& places, std::vector<Tensor> chosen,
                    bool is_cubic) {
  const std::size_t d = chosen.size();
  if (d == places.size()) return elements_at(from, chosen);
  const Tensor floor = ops::floor(places[d]);
  const Tensor t = places[d] - floor;
  const std::vector<Tensor> weights = is_cubic ? cubic_weights(t) : std::vector<Tensor>{1.0 - t, t};
  Tensor total;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    std::vector<Tensor> next = chosen;
    next.push_back(floor + (static_cast<double>(k) - (is_cubic ? 1 : 0)));
    const Tensor part = interpolated(from, places, next, is_cubic) * ops::unsqueeze(weights[k], 1);
    total = total ? total + part : part;
  }
  return total;
}

Values grid_sample(Call& call) {
  const Tensor x = call.x(0), grid = call.x(1);
  const int rank = x.rank() - 2;
  if (rank < 1 || grid.rank() != x.rank()) call.refuse("needs images and a grid of one rank");
  const Sampling from{
      ops::reshape(x, Dims{x.size(0), x.size(1), product(std::span<const Dim>(x.sizes()).subspan(2))}),
      Dims(x.sizes().begin() + 2, x.sizes().end()), call.word("padding_mode", "zeros"),
      call.integer("align_corners", 0) != 0};
  const Dim count = product(std::span<const Dim>(grid.sizes()).subspan(1, static_cast<std::size_t>(rank)));
  const Tensor flat = ops::reshape(grid, Dims{grid.size(0), count, rank});
  const std::string mode = call.word("mode", "linear");
  const bool is_nearest = mode == "nearest";
  std::vector<Tensor> places;
  for (int d = 0; d < rank; ++d) {  // a grid names the last dimension first
    const Tensor place = placed(from, ops::select(flat, 2, rank - 1 - d), static_cast<std::size_t>(d));
    places.push_back(is_nearest ? ops::round(place) : place);
  }
  const Tensor made = is_nearest ? elements_at(from, places)
                                 : interpolated(from, places, {}, mode == "cubic" || mode == "bicubic");
  Dims sizes{x.size(0), x.size(1)};
  for (int d = 1; d <= rank; ++d) sizes.push_back(grid.size(d));
  return {ops::reshape(ops::to(made, x.dtype()), sizes)};
}

// From -1 to 1, at the middles of the elements or from corner to corner.
Tensor even_places(Dim size, bool align, DType dtype) {
  const double count = static_cast<double>(size.fixed());
  const Tensor at = ops::to(ops::arange(0, size, 1, DType::I64), dtype);
  return align ? at * (2 / (count - 1)) - 1.0 : (at * 2.0 + 1.0) / count - 1.0;
}

Values affine_grid(Call& call) {
  const Tensor theta = call.x(0);
  const Dims size = call.ints(1);
  const bool align = call.integer("align_corners", 0) != 0;
  const int rank = static_cast<int>(size.size()) - 2;
  if (rank < 1) call.refuse("needs the sizes of images");
  const Dims spatial(size.begin() + 2, size.end());
  std::vector<Tensor> columns;
  for (int d = rank; d-- > 0;) {
    Dims shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(d)] = spatial[static_cast<std::size_t>(d)];
    const Tensor places = even_places(spatial[static_cast<std::size_t>(d)], align, theta.dtype());
    columns.push_back(
        ops::reshape(ops::expand(ops::reshape(places, shape), spatial), Dims{product(spatial)}));
  }
  columns.push_back(ops::ones(Dims{product(spatial)}, theta.dtype()));
  const Tensor made = ops::matmul(ops::stack(columns, 1), ops::transpose(theta, 1, 2));
  Dims sizes{size[0]};
  for (const Dim each : spatial) sizes.push_back(each);
  sizes.push_back(rank);
  return {ops::reshape(made, sizes)};
}

// Whole numbers along dimension `d` of these sizes, of all their elements in order: [count].
Tensor positions(const Dims& sizes, std::size_t d) {
  Dims shape(sizes.size(), 1);
  shape[d] = sizes[d];
  const Tensor along = ops::reshape(ops::arange(0, sizes[d]), shape);
  return ops::reshape(ops::expand(along, sizes), Dims{product(sizes)});
}

// A convolution whose windows see the image where the offsets move them.
Values deform_conv(Call& call) {
  const Tensor x = call.x(0), weight = call.x(1), offset = call.x(2);
  if (x.rank() < 3 || weight.rank() != x.rank() || offset.rank() != x.rank())
    call.refuse("needs images, weights and offsets of one rank");
  const Windows over = windows(call, x, Dims(weight.sizes().begin() + 2, weight.sizes().end()));
  const Dims out(offset.sizes().begin() + 2, offset.sizes().end());
  const Dim groups = call.integer("group", 1), own = call.integer("offset_group", 1);
  const Dim images = x.size(0), channels = x.size(1), seen = product(over.kernel), count = product(out);
  const Dims spatial(x.sizes().begin() + 2, x.sizes().end());
  // Channels that share offsets are an image of their own.
  const Sampling from{ops::reshape(x, Dims{images * own, floor_div(channels, own), product(spatial)}),
                      spatial, "zeros"};
  const auto rank = static_cast<std::int64_t>(over.rank());
  const Tensor moves = ops::reshape(offset, Dims{images * own, seen, rank, count});
  std::vector<Tensor> places;
  for (std::size_t d = 0; d < over.rank(); ++d) {
    const Tensor within = ops::mul(positions(over.kernel, d), number_operand(over.dilations[d]));
    const Tensor first = ops::sub(ops::mul(positions(out, d), number_operand(over.strides[d])),
                                  number_operand(over.before[d]));
    const Tensor plain = ops::to(ops::add(ops::unsqueeze(within, 1), first), offset.dtype());
    const Tensor moved = ops::select(moves, 2, static_cast<std::int64_t>(d)) + plain;
    places.push_back(ops::reshape(moved, Dims{images * own, seen * count}));
  }
  Tensor sampled = interpolated(from, places, {}, false);
  if (call.has(4)) sampled = sampled * ops::reshape(call.x(4), Dims{images * own, 1, seen * count});
  const Dim inputs = floor_div(channels, groups) * seen, outputs = weight.size(0);
  const Tensor columns = ops::reshape(sampled, Dims{images, groups, inputs, count});
  const Tensor matrix = ops::reshape(weight, Dims{1, groups, floor_div(outputs, groups), inputs});
  Dims sizes{images, outputs};
  for (const Dim each : out) sizes.push_back(each);
  const Tensor made = ops::reshape(ops::matmul(matrix, columns), sizes);
  if (!call.has(3)) return {made};
  Dims one_each(sizes.size(), 1);
  one_each[1] = outputs;
  return {made + ops::reshape(call.x(3), one_each)};
}

constexpr Operator kSampleOperators[] = {
    {"AffineGrid", affine_grid},
    {"DeformConv", deform_conv},
    {"GridSample", grid_sample},
};

}  // namespace

std::span<const Operator> sample_operators() { return kSampleOperators; }

}  // namespace kiln::onnx
