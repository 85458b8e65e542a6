#include "tensor/ops/conv_rules.h"

#include "tensor/ops/convolution.h"
#include "tensor/ops/rules.h"

namespace kiln::rules {

namespace {

using ops::conv_options;
using ops::ConvOptions;
using ops::spatial_sizes;

ConvOptions options_of(const Attrs& attrs, std::size_t rank) { return conv_options(attrs, rank - 2); }

// The first places of a result: where fewer were taken than the input has room for.
Tensor first_places(Tensor y, const Dims& sizes) {
  for (std::size_t d = 2; d < sizes.size(); ++d) {
    const int dim = static_cast<int>(d);
    if (y.size(dim) != sizes[d]) y = ops::narrow(y, dim, 0, sizes[d]);
  }
  return y;
}

Tensor plus(const Tensor& a, const Tensor& b) { return !a ? b : !b ? a : a + b; }

// Every dimension but that of the channels.
Dims all_but_channels(std::size_t rank) {
  Dims dims{0};
  for (std::size_t d = 2; d < rank; ++d) dims.push_back(static_cast<Dim>(d));
  return dims;
}

}  // namespace

// ---- Derivatives -----------------------------------------------------------------------------------------

Tensors convolution_vjp(const VjpArgs& args) {
  const Dims& x = args.input_types[0].sizes;
  const ConvOptions options = options_of(args.attrs, x.size());
  const Tensor& g = args.grads[0];
  Tensors result(3);
  if (args.needs[0]) result[0] = ops::convolution_input(g, args.inputs[1], spatial_sizes(x), options);
  if (args.needs[1]) {
    const Dims kernel = spatial_sizes(args.input_types[1].sizes);
    result[1] = ops::convolution_weight(args.inputs[0], g, kernel, options);
  }
  if (args.needs[2]) result[2] = ops::sum(g, all_but_channels(x.size()));
  return result;
}

Tensors convolution_jvp(const JvpArgs& args) {
  const int rank = args.inputs[0].rank();
  const ConvOptions options = options_of(args.attrs, args.inputs[0].sizes().size());
  Tensor tangent;
  if (args.tangents[0]) tangent = ops::convolution(args.tangents[0], args.inputs[1], {}, options);
  if (args.tangents[1])
    tangent = plus(tangent, ops::convolution(args.inputs[0], args.tangents[1], {}, options));
  if (args.tangents[2]) {
    const Tensor spread = ops::along_channels(args.tangents[2], rank);
    tangent = tangent ? tangent + spread : ops::expand(spread, args.outputs[0].sizes());
  }
  return {tangent};
}

Tensors convolution_input_vjp(const VjpArgs& args) {
  const Dims& y = args.input_types[0].sizes;
  const ConvOptions options = options_of(args.attrs, y.size());
  const Tensor& g = args.grads[0];
  Tensors result(2);
  if (args.needs[0]) result[0] = first_places(ops::convolution(g, args.inputs[1], {}, options), y);
  if (args.needs[1]) {
    const Dims kernel = spatial_sizes(args.input_types[1].sizes);
    result[1] = ops::convolution_weight(g, args.inputs[0], kernel, options);
  }
  return result;
}

Tensors convolution_input_jvp(const JvpArgs& args) {
  const ConvOptions options = options_of(args.attrs, args.inputs[0].sizes().size());
  const Dims& sizes = args.attrs.get<Dims>("sizes");
  Tensor tangent;
  if (args.tangents[0]) tangent = ops::convolution_input(args.tangents[0], args.inputs[1], sizes, options);
  if (args.tangents[1])
    tangent = plus(tangent, ops::convolution_input(args.inputs[0], args.tangents[1], sizes, options));
  return {tangent};
}

Tensors convolution_weight_vjp(const VjpArgs& args) {
  const Dims& x = args.input_types[0].sizes;
  const Dims& y = args.input_types[1].sizes;
  const ConvOptions options = options_of(args.attrs, x.size());
  const Tensor& g = args.grads[0];
  Tensors result(2);
  if (args.needs[0]) result[0] = ops::convolution_input(args.inputs[1], g, spatial_sizes(x), options);
  if (args.needs[1]) result[1] = first_places(ops::convolution(args.inputs[0], g, {}, options), y);
  return result;
}

Tensors convolution_weight_jvp(const JvpArgs& args) {
  const ConvOptions options = options_of(args.attrs, args.inputs[0].sizes().size());
  const Dims& sizes = args.attrs.get<Dims>("sizes");
  Tensor tangent;
  if (args.tangents[0]) tangent = ops::convolution_weight(args.tangents[0], args.inputs[1], sizes, options);
  if (args.tangents[1])
    tangent = plus(tangent, ops::convolution_weight(args.inputs[0], args.tangents[1], sizes, options));
  return {tangent};
}

// ---- Batching: the batch joins the images where only images have it, else the channels of every group; ---
// ---- where both sides have it, each example is groups of its own ------------------------------------------

namespace {

// [batch, n, …] as [batch * n, …], and back.
Tensor join_first(const Tensor& x) {
  Dims sizes(x.sizes().begin() + 1, x.sizes().end());
  sizes[0] *= x.size(0);
  return ops::reshape(x, sizes);
}
Tensor part_first(const Tensor& x, Dim batch) {
  Dims sizes = prepend(batch, x.sizes());
  sizes[1] /= batch;
  return ops::reshape(x, sizes);
}

// Moves the batch from the front to just inside the groups of dimension `dim` (counted without the batch)
// and joins it to what is there: [batch, …, groups * c, …] as […, groups * batch * c, …]; and back.
Tensor join_channels(const Tensor& x, int dim, std::int64_t groups) {
  const Dim batch = x.size(0);
  Dims split = x.sizes();
  const auto at = static_cast<std::size_t>(dim) + 1;
  split[at] = split[at] / groups;
  split.insert(split.begin() + dim + 1, groups);
  Dims order;
  for (int d = 1; d <= dim + 1; ++d) order.push_back(d);
  order.push_back(0);
  for (int d = dim + 2; d < static_cast<int>(split.size()); ++d) order.push_back(d);
  Dims joined(x.sizes().begin() + 1, x.sizes().end());
  joined[static_cast<std::size_t>(dim)] *= batch;
  return ops::reshape(ops::permute(ops::reshape(x, split), order), joined);
}
Tensor part_channels(const Tensor& x, int dim, std::int64_t groups, Dim batch) {
  const auto at = static_cast<std::size_t>(dim);
  Dims split = x.sizes();
  split[at] = x.size(dim) / (groups * batch);
  split.insert(split.begin() + dim, batch);
  split.insert(split.begin() + dim, groups);
  Dims order{dim + 1};
  for (int d = 0; d < static_cast<int>(split.size()); ++d)
    if (d != dim + 1) order.push_back(d);
  Dims sizes = prepend(batch, x.sizes());
  sizes[at + 1] /= batch;
  return ops::reshape(ops::permute(ops::reshape(x, split), order), sizes);
}

ConvOptions more_groups(ConvOptions options, Dim batch) {
  options.groups = options.groups * batch;
  return options;
}

// Which dimension of a tensor holds the channels of its groups when the batch is to join them: the images'
// and the results' second, the weight's first for results and second (within a group) for images.
constexpr int kImageChannels = 1;
constexpr int kWeightResults = 0;
constexpr int kWeightImages = 1;

// Without examples the groups, or the images, would be none: one of zeros stands for them.
Tensors rule_of_no_examples(const BatchArgs& args, BatchFn rule) {
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!args.batched[i] || !inputs[i]) continue;
    Dims sizes(inputs[i].sizes().begin(), inputs[i].sizes().end());
    sizes[0] = 1;
    const Tensor both[] = {inputs[i], ops::zeros(sizes, inputs[i].dtype(), inputs[i].device())};
    inputs[i] = ops::cat(both);
  }
  Tensors results = rule({args.op, args.attrs, inputs, args.batched, 1});
  for (Tensor& each : results) each = ops::slice(each, 0, 0, 0);
  return results;
}

}  // namespace

Tensors convolution_batch(const BatchArgs& args) {
  if (args.batch_size == 0) return rule_of_no_examples(args, convolution_batch);
  const Tensor& x = args.inputs[0];
  const Tensor& weight = args.inputs[1];
  const Dim batch = args.batch_size;
  const auto rank = x.sizes().size() - (args.batched[0] ? 1U : 0U);
  const ConvOptions options = options_of(args.attrs, rank);
  Tensor y;
  if (args.batched[0] && args.batched[1]) {
    const Tensor joined = ops::convolution(join_channels(x, kImageChannels, 1), join_first(weight), {},
                                           more_groups(options, batch));
    y = part_channels(joined, kImageChannels, 1, batch);
  } else if (args.batched[1]) {
    const Tensor joined =
        ops::convolution(x, join_channels(weight, kWeightResults, options.groups), {}, options);
    y = part_channels(joined, kImageChannels, options.groups, batch);
  } else {
    const bool same_bias = !args.batched[2];
    const Tensor images = args.batched[0] ? join_first(x) : x;
    y = ops::convolution(images, weight, same_bias ? args.inputs[2] : Tensor(), options);
    if (args.batched[0]) y = part_first(y, batch);
    if (same_bias) return {y};
  }
  if (!args.inputs[2]) return {y};
  const Tensor& bias = args.inputs[2];
  Dims sizes(rank + 1, 1);
  sizes[0] = args.batched[2] ? batch : 1;
  sizes[2] = bias.size(bias.rank() - 1);
  return {y + ops::reshape(bias, sizes)};
}

Tensors convolution_input_batch(const BatchArgs& args) {
  if (args.batch_size == 0) return rule_of_no_examples(args, convolution_input_batch);
  const Tensor& y = args.inputs[0];
  const Tensor& weight = args.inputs[1];
  const Dim batch = args.batch_size;
  const ConvOptions options = options_of(args.attrs, y.sizes().size() - (args.batched[0] ? 1U : 0U));
  const Dims& sizes = args.attrs.get<Dims>("sizes");
  if (args.batched[0] && args.batched[1]) {
    const Tensor joined = ops::convolution_input(join_channels(y, kImageChannels, 1), join_first(weight),
                                                 sizes, more_groups(options, batch));
    return {part_channels(joined, kImageChannels, 1, batch)};
  }
  if (args.batched[0])
    return {part_first(ops::convolution_input(join_first(y), weight, sizes, options), batch)};
  const Tensor joined = ops::convolution_input(y, join_channels(weight, kWeightImages, 1), sizes, options);
  return {part_channels(joined, kImageChannels, options.groups, batch)};
}

Tensors convolution_weight_batch(const BatchArgs& args) {
  if (args.batch_size == 0) return rule_of_no_examples(args, convolution_weight_batch);
  const Tensor& x = args.inputs[0];
  const Tensor& y = args.inputs[1];
  const Dim batch = args.batch_size;
  const ConvOptions options = options_of(args.attrs, x.sizes().size() - (args.batched[0] ? 1U : 0U));
  const Dims& sizes = args.attrs.get<Dims>("sizes");
  if (args.batched[0] && args.batched[1]) {
    const Tensor joined =
        ops::convolution_weight(join_channels(x, kImageChannels, 1), join_channels(y, kImageChannels, 1),
                                sizes, more_groups(options, batch));
    return {part_first(joined, batch)};
  }
  if (args.batched[0]) {
    const Tensor joined =
        ops::convolution_weight(join_channels(x, kImageChannels, options.groups), y, sizes, options);
    return {part_channels(joined, kWeightImages, 1, batch)};
  }
  const Tensor joined =
      ops::convolution_weight(x, join_channels(y, kImageChannels, options.groups), sizes, options);
  return {part_channels(joined, kWeightResults, options.groups, batch)};
}

}  // namespace kiln::rules
