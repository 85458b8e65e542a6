// Samples for convolutions, pooling and attention.
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

// ---- Convolutions: plain; strided, padded and dilated, with groups; one dimension; depthwise --------------

struct Convolution {
  Dims x, weight, y;  // sizes; y what the convolution gives
  std::vector<NamedAttr> attrs;
};
const std::vector<Convolution>& convolutions() {
  static const std::vector<Convolution> kCases = {
      {{2, 2, 3, 4}, {3, 2, 2, 2}, {2, 3, 2, 3}, {}},
      {{1, 4, 5, 4},
       {4, 2, 2, 3},
       {1, 4, 3, 2},
       {{"stride", Dims{2, 1}}, {"padding", Dims{1, 0}}, {"dilation", Dims{2, 1}}, {"groups", 2_i}}},
      {{2, 2, 5}, {3, 2, 3}, {2, 3, 3}, {{"stride", Dims{2}}, {"padding", Dims{1}}}},
      {{2, 3, 3, 3}, {3, 1, 2, 2}, {2, 3, 2, 2}, {{"groups", 3_i}}},
  };
  return kCases;
}
Dims spatial(const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); }

Samples convolution_samples() {
  Samples samples;
  for (const Convolution& each : convolutions()) {
    samples.push_back({{real(each.x, 1), real(each.weight, 2), {}}, each.attrs});
    samples.push_back({{real(each.x, 1), real(each.weight, 2), real({each.weight[0]}, 3)}, each.attrs});
  }
  return samples;
}
Samples convolution_input_samples() {
  Samples samples;
  for (const Convolution& each : convolutions()) {
    std::vector<NamedAttr> attrs = each.attrs;
    attrs.push_back({"sizes", spatial(each.x)});
    samples.push_back({{real(each.y, 1), real(each.weight, 2)}, attrs});
  }
  // Fewer places than the convolution has room for.
  samples.push_back({{real({1, 2, 2}, 1), real({2, 1, 2}, 2)}, {{"sizes", Dims{5}}, {"dilation", Dims{2}}}});
  return samples;
}
Samples convolution_weight_samples() {
  Samples samples;
  for (const Convolution& each : convolutions()) {
    std::vector<NamedAttr> attrs = each.attrs;
    attrs.push_back({"sizes", spatial(each.weight)});
    samples.push_back({{real(each.x, 1), real(each.y, 2)}, attrs});
  }
  samples.push_back({{real({1, 1, 5}, 1), real({1, 2, 2}, 2)}, {{"sizes", Dims{2}}, {"dilation", Dims{2}}}});
  return samples;
}

Samples conv1d_samples() {
  return {{{real({2, 2, 5}, 1), real({3, 2, 3}, 2), real({3}, 3)}, {{"padding", Dims{1}}}},
          {{real({2, 4}, 1), real({3, 2, 2}, 2), {}}, {{"stride", Dims{2}}}}};
}
Samples conv2d_samples() {
  return {{{real({1, 2, 4, 4}, 1), real({2, 2, 3, 2}, 2), real({2}, 3)}, {{"padding", Dims{1, 0}}}},
          {{real({2, 4, 4}, 1), real({2, 1, 2, 2}, 2), {}}, {{"stride", Dims{2}}, {"groups", 2_i}}}};
}
template <int kSpatial>
Samples conv_named_samples() {
  Dims x{1, 2}, weight{2, 2};
  x.resize(2 + kSpatial, 4);
  weight.resize(2 + kSpatial, 2);
  Samples samples;
  for (const char* padding : {"same", "valid"})
    samples.push_back({{real(x, 1), real(weight, 2), real({2}, 3)}, {{"padding", std::string(padding)}}});
  return samples;
}
Samples conv_transpose1d_samples() {
  return {{{real({2, 2, 3}, 1), real({2, 2, 3}, 2), real({2}, 3)},
           {{"stride", Dims{2}}, {"padding", Dims{1}}, {"output_padding", Dims{1}}}},
          {{real({2, 3}, 1), real({2, 2, 2}, 2), {}}, {{"dilation", Dims{3}}, {"output_padding", Dims{2}}}}};
}
Samples conv_transpose2d_samples() {
  return {{{real({1, 2, 2, 3}, 1), real({2, 1, 2, 2}, 2), real({2}, 3)},
           {{"stride", Dims{2, 1}}, {"groups", 2_i}, {"output_padding", Dims{1, 0}}}},
          {{real({1, 3, 2}, 1), real({1, 2, 2, 2}, 2), {}}, {{"padding", Dims{1}}}}};
}

// ---- Pooling: elements far enough apart that a small step changes no maximum ------------------------------

Tensor apart(const Dims& sizes) {
  return make(sizes, DType::F64, [](std::int64_t i) { return static_cast<double>(i * 37 % 101) / 10 - 5; });
}
Tensor places(const Dims& sizes, std::int64_t count) {
  return make(sizes, DType::I64, [=](std::int64_t i) { return static_cast<double>(i * 5 % count); });
}
const std::vector<std::vector<NamedAttr>>& pools() {
  static const std::vector<std::vector<NamedAttr>> kPools = {
      {{"kernel_size", Dims{2}}},
      {{"kernel_size", Dims{3, 2}}, {"stride", Dims{2, 1}}, {"padding", Dims{1}}, {"ceil_mode", true}}};
  return kPools;
}

Samples max_pool2d_samples() {
  Samples samples;
  for (const auto& attrs : pools())
    for (const Dims& sizes : {Dims{2, 2, 4, 5}, Dims{2, 5, 4}}) samples.push_back({{apart(sizes)}, attrs});
  samples.push_back(
      {{apart({2, 5, 5})}, {{"kernel_size", Dims{2}}, {"stride", Dims{1}}, {"dilation", Dims{2}}}});
  return samples;
}
Samples max_pool2d_form_samples() {
  Samples samples = max_pool2d_samples();
  samples.back().attrs.push_back({"return_indices", true});
  return samples;
}
Samples adaptive_samples() {
  return {{{apart({2, 2, 4, 5})}, {{"output_size", Dims{2, 3}}}},
          {{apart({2, 5, 4})}, {{"output_size", Dims{-1, 2}}}}};
}
Samples max_pool_backward_samples() {
  return {{{real({2, 1, 2, 2}, 1), places({2, 1, 2, 2}, 9)}, {{"sizes", Dims{3, 3}}}},
          {{real({2, 2, 3}, 2), places({2, 2, 3}, 4)}, {{"sizes", Dims{2, 2}}}}};
}
Samples avg_pool2d_samples() {
  Samples samples;
  for (auto attrs : pools()) {
    samples.push_back({{real({2, 2, 4, 5}, 1)}, attrs});
    attrs.push_back({"count_include_pad", false});
    samples.push_back({{real({2, 5, 4}, 2)}, attrs});
    attrs.push_back({"divisor_override", 3_i});
    samples.push_back({{real({2, 5, 4}, 2)}, attrs});
  }
  return samples;
}
// The gradients that belong to the samples of a pool.
Samples spread_samples(std::string_view pool, const Samples& forward) {
  Samples samples;
  for (const Sample& each : forward) {
    const Dims& x = each.inputs[0].sizes();
    std::vector<NamedAttr> attrs = each.attrs;
    attrs.push_back({"sizes", Dims(x.end() - 2, x.end())});
    samples.push_back({{real(call(pool, each.inputs, each.attrs)[0].sizes(), 3)}, attrs});
  }
  return samples;
}
Samples line_samples() {
  return {{{apart({2, 2, 7})}, {{"kernel_size", Dims{3}}, {"stride", Dims{2}}, {"padding", Dims{1}}}},
          {{apart({2, 6})}, {{"kernel_size", Dims{2}}}}};
}
Samples adaptive_line_samples() { return {{{real({2, 2, 7})}, {{"output_size", Dims{3}}}}}; }

// ---- Attention -------------------------------------------------------------------------------------------

Samples attention_samples() {
  const Tensor q = real({2, 3, 4}, 1), k = real({2, 5, 4}, 2), v = real({2, 5, 3}, 3);
  const Tensor seen = make({3, 5}, DType::Bool, [](std::int64_t i) { return i % 3 != 0 && i < 10; });
  const Tensor added = real({2, 1, 5}, 4);
  return {
      {{q, k, v, {}}, {}},
      {{q, k, v, {}}, {{"is_causal", true}, {"scale", 0.7}}},
      {{q, k, v, seen}, {}},
      {{q, k, v, added}, {}},
      {{real({1, 4, 2, 3}, 1), real({1, 2, 3, 3}, 2), real({1, 2, 3, 2}, 3), {}}, {{"enable_gqa", true}}}};
}

// Without queries that see nothing, whose logarithms are infinite.
Samples flash_samples() {
  const Tensor q = real({2, 3, 4}, 1), k = real({2, 5, 4}, 2), v = real({2, 5, 3}, 3);
  const Tensor seen = make({3, 5}, DType::Bool, [](std::int64_t i) { return i % 3 != 0; });
  return {{{q, k, v, {}}, {{"scale", 0.5}}},
          {{q, k, v, {}}, {{"is_causal", true}, {"scale", 0.7}}},
          {{q, k, v, seen}, {}},
          {{q, k, v, real({2, 1, 5}, 4)}, {}},
          {{real({2, 1, 3, 3}, 1), real({1, 2, 2, 3}, 2), real({2, 2}, 3), {}}, {}}};
}
// Each operand is its own: nothing says that the logarithms are those of the scores.
Samples flash_backward_samples() {
  Samples samples = flash_samples();
  for (Sample& each : samples) {
    const Tensor mask = each.inputs[3];
    Dims sizes = call("flash_attention", each.inputs, each.attrs)[0].sizes();
    const Tensor grad = real(sizes, 5);
    sizes.pop_back();
    each.inputs = {grad, each.inputs[0], each.inputs[1], each.inputs[2], real(sizes, 6), real(sizes, 7),
                   mask};
  }
  return samples;
}

}  // namespace

const std::map<std::string_view, std::function<std::vector<Sample>()>>& layer_samples() {
  static const std::map<std::string_view, std::function<Samples()>> kSamples = {
      {"convolution", convolution_samples},
      {"convolution_input", convolution_input_samples},
      {"convolution_weight", convolution_weight_samples},
      {"conv1d", conv1d_samples},
      {"conv2d", conv2d_samples},
      {"conv1d.named", conv_named_samples<1>},
      {"conv2d.named", conv_named_samples<2>},
      {"conv_transpose1d", conv_transpose1d_samples},
      {"conv_transpose2d", conv_transpose2d_samples},
      {"max_pool2d_with_indices", max_pool2d_samples},
      {"adaptive_max_pool2d_with_indices", adaptive_samples},
      {"max_pool2d_backward", max_pool_backward_samples},
      {"max_pool2d", max_pool2d_form_samples},
      {"adaptive_max_pool2d", adaptive_samples},
      {"max_pool1d", line_samples},
      {"avg_pool2d", avg_pool2d_samples},
      {"avg_pool2d_backward", [] { return spread_samples("avg_pool2d", avg_pool2d_samples()); }},
      {"adaptive_avg_pool2d", adaptive_samples},
      {"adaptive_avg_pool2d_backward",
       [] { return spread_samples("adaptive_avg_pool2d", adaptive_samples()); }},
      {"avg_pool1d", line_samples},
      {"adaptive_avg_pool1d", adaptive_line_samples},
      {"scaled_dot_product_attention", attention_samples},
      {"flash_attention", flash_samples},
      {"flash_attention_backward", flash_backward_samples},
  };
  return kSamples;
}

}  // namespace kiln::testing
