// Samples for convolutions, pooling and attention.
#include "tests/tensor/samples.h"

namespace kiln::testing {
namespace {

using Samples = std::vector<Sample>;

std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }
Tensor real(const Dims& sizes, int seed = 1) { return noise(sizes, DType::F64, seed); }

// ---- Convolutions: plain; strided, padded and dilated, with groups; one dimension; depthwise --------------

struct Case {
  Dims x, weight, y;  // sizes; y what the convolution gives
  std::vector<NamedAttr> attrs;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
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
  for (const Case& each : cases()) {
    samples.push_back({{real(each.x, 1), real(each.weight, 2), {}}, each.attrs});
    samples.push_back({{real(each.x, 1), real(each.weight, 2), real({each.weight[0]}, 3)}, each.attrs});
  }
  return samples;
}
Samples convolution_input_samples() {
  Samples samples;
  for (const Case& each : cases()) {
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
  for (const Case& each : cases()) {
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
  };
  return kSamples;
}

}  // namespace kiln::testing
