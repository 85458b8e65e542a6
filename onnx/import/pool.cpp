// Pools: the largest element, the mean, a norm of each window, of any number of spatial dimensions.
#include <limits>

#include "onnx/import/window.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Windows pool_windows(Call& call, const Tensor& x) {
  const std::optional<Dims> kernel = call.dims("kernel_shape");
  if (!kernel) call.refuse("has no kernel_shape");
  return windows(call, x, *kernel);
}

// All windows, as a view: [n, channels, windows…, places in the window…]. Where windows reach beyond the end,
// x is padded further with `value`.
Tensor window_views(const Tensor& x, const Windows& all, bool ceil, const Attr& value) {
  Dims after;
  for (std::size_t d = 0; d < all.rank(); ++d) {
    const Dim size = x.size(static_cast<int>(d) + 2);
    const Dim span = (all.kernel[d] - 1) * all.dilations[d] + 1;
    const Dim reach = (window_count(size, all, d, ceil) - 1) * all.strides[d] + span;
    after.push_back(max(all.after[d], reach - size - all.before[d]));
  }
  Tensor view = padded(x, all.before, after, value);
  const int rank = static_cast<int>(all.rank());
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const Dim size = x.size(d + 2);
    view = ops::unfold(view, d + 2, (all.kernel[at] - 1) * all.dilations[at] + 1, all.strides[at]);
    view = ops::narrow(view, d + 2, 0, window_count(size, all, at, ceil));
    if (all.dilations[at] != 1)
      view =
          ops::slice(view, view.rank() - 1, 0, std::numeric_limits<std::int64_t>::max(), all.dilations[at]);
  }
  return view;
}

// The places in windows are the last dimensions.
Dims window_dims(const Windows& all) {
  Dims dims;
  for (std::size_t d = 0; d < all.rank(); ++d) dims.push_back(static_cast<std::int64_t>(2 + all.rank() + d));
  return dims;
}

Attr lowest(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return dtype == DType::U8 ? Dim(0) : Dim(-128);
}

bool is_plain(const Windows& all, bool ceil) {
  return all.rank() == 2 && all.is_symmetric() && !ceil && all.before[0] * 2 <= all.kernel[0] &&
         all.before[1] * 2 <= all.kernel[1];
}

// The number that each place has in the whole tensor, in order of rows or of columns.
Tensor place_numbers(const Tensor& x, bool by_columns) {
  const Dims spatial(x.sizes().begin() + 2, x.sizes().end());
  const Dim planes = x.size(0) * x.size(1), size = product(spatial);
  Tensor plane = ops::arange(0, size, 1, DType::I64);
  if (by_columns) {
    Dims reversed;
    Dims order;
    for (std::size_t d = spatial.size(); d-- > 0;) {
      reversed.push_back(spatial[d]);
      order.push_back(static_cast<std::int64_t>(d));
    }
    plane = ops::permute(ops::reshape(plane, reversed), order);
  }
  const Tensor first = ops::reshape(ops::arange(0, planes, 1, DType::I64), Dims{planes, 1});
  const Tensor all = ops::add(ops::mul(first, number_operand(size)), ops::reshape(plane, Dims{1, size}));
  return ops::reshape(all, x.sizes());
}

Values max_pool_with_places(Call& call, const Tensor& x, const Windows& all, bool ceil) {
  const Tensor seen = window_views(x, all, ceil, lowest(x.dtype()));
  const Tensor numbers = place_numbers(x, call.integer("storage_order", 0) != 0);
  const Tensor seen_numbers = window_views(numbers, all, ceil, Dim(-1));
  Dims sizes(seen.sizes().begin(), seen.sizes().begin() + 2 + static_cast<std::ptrdiff_t>(all.rank()));
  sizes.push_back(product(all.kernel));
  const int last = static_cast<int>(sizes.size()) - 1;
  const Tensors best = apply_all("max.dim", {{ops::reshape(seen, sizes)}}, {{"dim", Dim(last)}});
  const Tensor places = ops::gather(ops::reshape(seen_numbers, sizes), last, ops::unsqueeze(best[1], last));
  return {best[0], ops::squeeze(places, Dims{last})};
}

Values max_pool(Call& call) {
  const Tensor x = call.x(0);
  const Windows all = pool_windows(call, x);
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  if (call.node().outputs.size() > 1) return max_pool_with_places(call, x, all, ceil);
  if (all.rank() == 2 && !ceil && is_float(x.dtype())) {
    // The row of the table pads both sides alike, by half a window at most.
    const bool plain = is_plain(all, ceil);
    const Tensor seen = plain ? x : padded(x, all.before, all.after, lowest(x.dtype()));
    return {apply("max_pool2d", {seen},
                  {{"kernel_size", all.kernel},
                   {"stride", all.strides},
                   {"padding", plain ? all.before : Dims(2, 0)},
                   {"dilation", all.dilations}})};
  }
  return {ops::amax(window_views(x, all, ceil, lowest(x.dtype())), window_dims(all))};
}

Values average_pool(Call& call) {
  const Tensor x = call.x(0);
  const Windows all = pool_windows(call, x);
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  const bool counts_pads = call.integer("count_include_pad", 0) != 0;
  if (is_plain(all, ceil) && all.dilations[0] == 1 && all.dilations[1] == 1)
    return {apply("avg_pool2d", {x},
                  {{"kernel_size", all.kernel},
                   {"stride", all.strides},
                   {"padding", all.before},
                   {"count_include_pad", counts_pads}})};
  const Dims dims = window_dims(all);
  // What counts: the elements, or also the pads, but never what lies beyond them.
  Dims sizes = x.sizes();
  sizes[0] = sizes[1] = 1;
  Tensor counted = ops::ones(sizes, x.dtype());
  Windows rest = all;
  if (counts_pads) {
    counted = padded(counted, all.before, all.after, 1.0);
    rest.before = rest.after = Dims(all.rank(), 0);
  }
  Tensor counts = ops::sum(window_views(counted, rest, ceil, 0.0), dims);
  const Tensor sums = ops::sum(window_views(x, all, ceil, 0.0), dims);
  for (int d = 2; d < sums.rank(); ++d) counts = ops::narrow(counts, d, 0, sums.size(d));
  return {ops::div(sums, counts)};
}

Values norm_pool(Call& call) {
  const Tensor x = call.x(0);
  const Windows all = pool_windows(call, x);
  const double p = static_cast<double>(call.integer("p", 2));
  const Tensor powers = ops::pow(ops::abs(x), Tensor::number(p));
  const Tensor sums =
      ops::sum(window_views(powers, all, call.integer("ceil_mode", 0) != 0, 0.0), window_dims(all));
  return {ops::pow(sums, Tensor::number(1 / p))};
}

Dims spatial_dims(const Tensor& x) {
  Dims dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

Values global_max(Call& call) {
  const Tensor x = call.x(0);
  return {x.rank() > 2 ? ops::amax(x, spatial_dims(x), true) : x};
}

Values global_average(Call& call) {
  const Tensor x = call.x(0);
  return {x.rank() > 2 ? ops::mean(x, spatial_dims(x), true) : x};
}

Values global_norm(Call& call) {
  const Tensor x = call.x(0);
  const double p = static_cast<double>(call.integer("p", 2));
  return {ops::pow(ops::sum(ops::pow(ops::abs(x), Tensor::number(p)), spatial_dims(x), true),
                   Tensor::number(1 / p))};
}

// Elements go back to the places that a max pool took them from.
Values max_unpool(Call& call) {
  const Tensor x = call.x(0), places = call.x(1);
  Dims sizes(x.sizes().begin(), x.sizes().begin() + 2);
  const Windows all = pool_windows(call, x);
  for (std::size_t d = 0; d < all.rank(); ++d)
    sizes.push_back((x.size(static_cast<int>(d) + 2) - 1) * all.strides[d] + all.kernel[d] - all.before[d] -
                    all.after[d]);
  Tensor numbers = ops::reshape(places, Dims{places.numel()});
  Dims given = sizes;
  if (call.has(2)) {
    given = call.ints(2);
    // Places count in the tensor that was pooled, and the result may be larger.
    const std::int64_t planes = (sizes[0] * sizes[1]).fixed();
    const Dim from_plane = product(sizes) / planes;
    const Dim from_row = sizes[sizes.size() - 1], to_row = given[given.size() - 1];
    if (all.rank() != 2) call.refuse("has an output_shape, and other than 2 spatial dimensions");
    const Tensor plane = ops::floor_div(numbers, number_operand(from_plane));
    const Tensor within = ops::remainder(numbers, number_operand(from_plane));
    const Tensor row = ops::floor_div(within, number_operand(from_row));
    const Tensor column = ops::remainder(within, number_operand(from_row));
    numbers = plane * number_operand(given[2] * given[3]) + row * number_operand(to_row) + column;
  }
  const Tensor empty = ops::zeros(Dims{product(given)}, x.dtype());
  return {ops::reshape(ops::scatter(empty, 0, numbers, ops::reshape(x, Dims{x.numel()})), given)};
}

constexpr Operator kPoolOperators[] = {
    {"AveragePool", average_pool}, {"GlobalAveragePool", global_average},
    {"GlobalLpPool", global_norm}, {"GlobalMaxPool", global_max},
    {"LpPool", norm_pool},         {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool},
};

}  // namespace

std::span<const Operator> pool_operators() { return kPoolOperators; }

}  // namespace kiln::onnx
