#include "tests/tensor/samples.h"

#include <map>

#include "tensor/ops/pointwise.h"
#include "tests/tensor/sample_parts.h"

namespace kiln::testing {
namespace {

// ---- Elementwise: where its row says that it is smooth
// --------------------------------------------------------------------

bool takes_only_tensors(const Op& op) {
  for (const Parameter& parameter : op.signature.parameters) {
    if (parameter.kind == ArgKind::TensorList || parameter.kind == ArgKind::OptionalTensorList) return false;
    if (parameter.kind != ArgKind::Tensor && !parameter.has_default) return false;
  }
  return op.signature.inputs > 0;
}

// Operand i: bits need integers, conditions bools, and what a mask fills in has no dimensions.
Tensor elementwise_operand(const Op& op, const Dims& sizes, int i) {
  if (op.pointwise == nullptr) return real(sizes, 100 + i);  // copies
  const Pointwise& row = *op.pointwise;
  if (row.rule == TypeRule::Bitwise || row.rule == TypeRule::Integer)
    return noise(sizes, DType::I64, 7 + i, 0, 60);
  if (i == row.mask) return make(sizes, DType::Bool, [](std::int64_t k) { return k % 2; });
  const SampleRange range = row.samples[static_cast<std::size_t>(i)];
  return real(row.mask == 1 && i == 2 ? Dims{} : sizes, 100 + i, range.low, range.high);
}

// One shape, and one that broadcasts.
Samples elementwise_samples(const Op& op) {
  Samples samples(op.signature.inputs > 1 ? 2 : 1);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (int i = 0; i < op.signature.inputs; ++i)
      samples[s].inputs.push_back(elementwise_operand(op, s == 1 && i == 1 ? Dims{3} : Dims{2, 3}, i));
  }
  return samples;
}

// ---- Reductions
// --------------------------------------------------------------------------------------------

Samples scaled_pair() { return {{{real({2, 3}, 1), real({3}, 2)}, {{"alpha", 2_i}}}}; }
Samples rounded_quotients() {
  Samples samples = {{{real({2, 3}, 1, 0.3, 3), real({3}, 2, 0.3, 3)}, {}}};
  for (const char* mode : {"floor", "trunc"}) {
    samples.push_back(samples[0]);
    samples.back().attrs = {{"rounding_mode", text(mode)}};
  }
  return samples;
}
Samples polygamma_samples() {
  return {{{real({2, 3}, 1, 0.5, 4.0)}, {{"n", 1_i}}}, {{real({2, 3}, 2, 0.5, 4.0)}, {{"n", 2_i}}}};
}
Samples checked_samples() {
  return {{{real({2, 3}, 1), real({3}, 2, 1.0, 2.0)}, {{"message", text("an element is 0")}}}};
}
Samples clamp_samples() {
  return {
      {{real({2, 3}, 1), real({}, 2, -1.0, -0.5), real({3}, 3, 0.5, 1.0)}, {}},
      {{real({2, 3}, 4), {}, real({}, 5, 0.2, 0.5)}, {}},
  };
}

Samples over_dims() {
  return {
      {{real({3, 4}, 1)}, {}},
      {{real({3, 4}, 2)}, {{"dim", Dims{1}}}},
      {{real({2, 3, 4}, 3)}, {{"dim", Dims{0, -1}}, {"keepdim", true}}},
      {{real({5}, 4)}, {{"dim", Dims{0}}}},
      {{real({}, 5)}, {}},
  };
}

Samples over_dims_not_0d() {
  Samples samples = over_dims();
  samples.pop_back();
  return samples;
}

Samples along_index() {
  return {
      {{real({3, 4}, 1)}, {{"dim", 0_i}}},
      {{real({2, 3, 4}, 2)}, {{"dim", -1_i}}},
      {{real({2, 3, 4}, 3)}, {{"dim", 1_i}}},
      {{real({}, 4)}, {{"dim", 0_i}}},
  };
}

Samples along_optional_index() {
  Samples samples = along_index();
  samples.push_back({{real({3, 4}, 5)}, {}});
  samples.push_back({{real({3, 4}, 6)}, {{"dim", 1_i}, {"keepdim", true}}});
  samples.push_back({{real({3, 4}, 7)}, {{"keepdim", true}}});
  return samples;
}

Samples whole() { return {{{real({3, 4}, 1)}, {}}, {{real({}, 2)}, {}}}; }
Samples two() { return {{{real({3, 4}, 1), real({4}, 2)}, {}}}; }

Samples dim_forms() {
  Samples samples = along_index();
  samples.push_back({{real({3, 4}, 6)}, {{"dim", 1_i}, {"keepdim", true}}});
  return samples;
}

// Zeros among the factors: none, one and two in a row.
Samples with_zeros(const char* name, const std::vector<Attr>& dims) {
  Samples samples;
  for (const Attr& dim : dims) {
    const Tensor x = real({3, 4}, 1, 0.4, 2.0);
    set_element(x, 5, 0);
    set_element(x, 8, 0);
    set_element(x, 10, 0);
    samples.push_back({{x}, {{name, dim}}});
  }
  return samples;
}

Samples prod_samples() {
  Samples samples = over_dims();
  for (Sample& each : with_zeros("dim", {Dims{1}, Dims{0, 1}})) samples.push_back(each);
  return samples;
}
Samples cumprod_samples() {
  Samples samples = along_index();
  for (Sample& each : with_zeros("dim", {1_i, 0_i})) samples.push_back(each);
  return samples;
}

Samples norm_samples() {
  Samples samples = over_dims();
  for (const double p : {1.0, 3.0, 1.5, HUGE_VAL, -HUGE_VAL, 0.0})
    samples.push_back({{real({3, 4}, 9)}, {{"p", p}, {"dim", Dims{1}}}});
  return samples;
}

Samples var_samples() {
  Samples samples = over_dims_not_0d();
  samples.push_back({{real({3, 4}, 8)}, {{"dim", Dims{0}}, {"unbiased", false}}});
  samples.push_back({{real({3, 4}, 9)}, {{"dim", Dims{1}}, {"correction", 2.0}}});
  return samples;
}

Samples unbiased_samples() {
  return {{{real({3, 4}, 1)}, {{"unbiased", true}}}, {{real({5}, 2)}, {{"unbiased", false}}}};
}

Samples logsumexp_samples() {
  return {
      {{real({3, 4}, 1)}, {{"dim", Dims{1}}}},
      {{real({2, 3, 4}, 2)}, {{"dim", Dims{0, 2}}, {"keepdim", true}}},
      {{real({}, 3)}, {{"dim", Dims{0}}}},
  };
}

Samples gradient_and_result() {
  return {
      {{real({3, 4}, 1), real({3, 4}, 2)}, {{"dim", 1_i}}},
      {{real({2, 3, 4}, 3), real({2, 3, 4}, 4)}, {{"dim", 0_i}}},
  };
}

// ---- nn
// ------------------------------------------------------------------------------------------------------

Samples pair_losses(double low = -2.0, double high = 2.0) {
  Samples samples;
  for (const char* reduction : {"mean", "sum", "none"})
    samples.push_back(
        {{real({3, 4}, 1, low, high), real({3, 4}, 2, low, high)}, {{"reduction", text(reduction)}}});
  return samples;
}

// Without and with a weight for each element.
Samples weighted_pair_losses() {
  Samples samples;
  for (const Sample& each : pair_losses()) {
    Sample plain = each, weighted = each;
    plain.inputs.push_back({});
    weighted.inputs.push_back(real({3, 4}, 5, 0.5, 2.0));
    samples.push_back(plain);
    samples.push_back(weighted);
  }
  return samples;
}

Samples binary_samples(double low, double high, bool pos_weight) {
  Samples samples;
  for (const Sample& each : pair_losses(low, high)) {
    Sample plain = each, weighted = each;
    plain.inputs[1] = real({3, 4}, 3, 0.1, 0.9);
    weighted.inputs[1] = plain.inputs[1];
    plain.inputs.push_back({});
    weighted.inputs.push_back(real({4}, 5, 0.5, 2.0));
    if (pos_weight) {
      plain.inputs.push_back({});
      weighted.inputs.push_back(real({4}, 6, 0.5, 2.0));
    }
    samples.push_back(plain);
    samples.push_back(weighted);
  }
  return samples;
}

Samples class_samples(bool smoothing) {
  Samples samples;
  for (const char* reduction : {"mean", "sum", "none"}) {
    const NamedAttr reduce{"reduction", text(reduction)};
    samples.push_back({{real({3, 4}, 1), ints({3}, {2, 0, 3}), {}}, {reduce}});
    samples.push_back(
        {{real({3, 4}, 2), ints({3}, {2, 1, 3}), real({4}, 3, 0.5, 2.0)}, {reduce, {"ignore_index", 1_i}}});
    samples.push_back({{real({2, 3, 2}, 4), ints({2, 2}, {2, 0, 1, 1}), {}}, {reduce}});
    if (!smoothing) continue;
    samples.push_back({{real({3, 4}, 5), ints({3}, {2, 1, 3}), real({4}, 3, 0.5, 2.0)},
                       {reduce, {"ignore_index", 1_i}, {"label_smoothing", 0.2}}});
    samples.push_back({{real({3, 4}, 6), real({3, 4}, 7, 0.1, 0.9), real({4}, 3, 0.5, 2.0)},
                       {reduce, {"label_smoothing", 0.1}}});
  }
  samples.push_back({{real({4}, 8), ints({}, {2}), {}}, {}});
  return samples;
}

Samples nll_backward_samples() {
  return {
      {{real({}, 1), ints({3}, {2, 0, 3}), {}}, {{"classes", 4_i}}},
      {{real({3}, 2), ints({3}, {2, 1, 3}), real({4}, 3, 0.5, 2.0)},
       {{"classes", 4_i}, {"ignore_index", 1_i}, {"reduction", text("none")}}},
      {{real({}, 4), ints({2, 2}, {2, 0, 1, 1}), {}}, {{"classes", 3_i}, {"reduction", text("sum")}}},
  };
}

Samples norm_layer_samples(bool bias) {
  Samples samples = {
      {{real({3, 5}, 1), {}}, {{"normalized_shape", Dims{5}}}},
      {{real({2, 3, 4}, 2), real({3, 4}, 3)}, {{"normalized_shape", Dims{3, 4}}, {"eps", 0.1}}},
  };
  if (!bias) return samples;
  samples[0].inputs.push_back({});
  samples[1].inputs.push_back(real({3, 4}, 4));
  return samples;
}

Samples norm_backward_samples() {
  return {
      {{real({3, 5}, 1), real({3, 5}, 2), real({5}, 3)}, {{"normalized_shape", Dims{5}}}},
      {{real({3, 5}, 4), real({3, 5}, 5), {}},
       {{"normalized_shape", Dims{5}}, {"eps", 0.1}, {"affine", false}}},
  };
}

Samples batch_norm_samples() {
  const Tensor mean = real({3}, 3);
  const Tensor var = real({3}, 4, 0.5, 2.0);
  return {
      {{real({4, 3}, 1), {}, {}, {}, {}}, {{"training", true}}},
      {{real({2, 3, 4}, 2), {}, {}, real({3}, 5), real({3}, 6)}, {{"training", true}}},
      {{real({2, 3, 4}, 2), mean, var, real({3}, 5), real({3}, 6)}, {}},
  };
}

Samples causal_samples() { return {{{real({2, 3, 4}, 1)}, {}}, {{real({5, 3}, 2)}, {}}}; }
Samples channel_norm_samples() {
  return {
      {{real({4, 3}, 1), {}, {}}, {}},
      {{real({2, 3, 2, 2}, 2), real({3}, 5), real({3}, 6)}, {{"eps", 0.1}}},
      {{real({2, 3, 5}, 3), real({3}, 5), {}}, {}},
  };
}
Samples sample_variance_samples() {
  return {
      {{real({3}, 1, 0.5, 2.0), real({4, 3}, 2)}, {}},
      {{real({2}, 3, 0.5, 2.0), real({3, 2, 2}, 4)}, {}},
  };
}
Samples channel_norm_backward_samples() {
  return {
      {{real({4, 3}, 1), real({4, 3}, 2), {}, {}, {}, {}, {}}, {}},
      {{real({2, 3, 2, 2}, 1), real({2, 3, 2, 2}, 2), real({3}, 5), real({3}, 6), real({3}, 7), {}, {}},
       {{"eps", 0.1}}},
      {{real({2, 3, 2}, 1), real({2, 3, 2}, 2), real({3}, 5), {}, {}, real({3}, 8), real({3}, 9, 0.5, 2.0)},
       {}},
  };
}
Samples channel_affine_samples() {
  return {{{real({2, 3}, 1), real({3}, 2), real({3}, 3)}, {}},
          {{real({2, 3, 2, 2}, 1), real({3}, 2), real({3}, 3)}, {}}};
}
Samples channel_affine_backward_samples() {
  return {{{real({2, 3}, 1), real({2, 3}, 2), real({3}, 3)}, {}},
          {{real({2, 3, 4}, 1), real({2, 3, 4}, 2), real({3}, 3)}, {}}};
}
Samples group_norm_samples() {
  return {{{real({2, 4, 3}, 1), real({4}, 2), real({4}, 3)}, {{"num_groups", 2_i}}},
          {{real({3, 6}, 1), {}, {}}, {{"num_groups", 2_i}, {"eps", 0.1}}}};
}
Samples group_norm_backward_samples() {
  return {{{real({2, 4, 3}, 1), real({2, 4, 3}, 2), real({4}, 3)}, {{"num_groups", 2_i}}},
          {{real({3, 6}, 1), real({3, 6}, 2), {}}, {{"num_groups", 2_i}, {"eps", 0.1}}}};
}

// The gradient is not the derivative: x is the same everywhere, and the other one a number.
Samples straight_through_samples() {
  return {{{real({2, 3}, 1), Tensor::number(0.5)}, {}, [](const Tensor& x) { return x * 0.0; }}};
}

const std::map<std::string_view, std::function<Samples()>> kSamples = {
    {"add.alpha", scaled_pair},
    {"sub.alpha", scaled_pair},
    {"polygamma", polygamma_samples},
    {"checked", checked_samples},
    {"straight_through", straight_through_samples},
    {"clamp", clamp_samples},
    {"div.rounded", rounded_quotients},
    {"sum", over_dims},
    {"nansum", over_dims},
    {"mean", over_dims},
    {"prod", prod_samples},
    {"amax", over_dims},
    {"amin", over_dims},
    {"any", over_dims},
    {"all", over_dims},
    {"count_nonzero", over_dims},
    {"var", var_samples},
    {"std", var_samples},
    {"var.unbiased", unbiased_samples},
    {"std.unbiased", unbiased_samples},
    {"norm", norm_samples},
    {"logsumexp", logsumexp_samples},
    {"argmax", along_optional_index},
    {"argmin", along_optional_index},
    {"max", whole},
    {"min", whole},
    {"max.other", two},
    {"min.other", two},
    {"max.dim", dim_forms},
    {"min.dim", dim_forms},
    {"cumsum", along_index},
    {"cummax", along_index},
    {"cummin", along_index},
    {"cumprod", cumprod_samples},
    {"softmax", along_index},
    {"log_softmax", along_index},
    {"softmax_backward", gradient_and_result},
    {"log_softmax_backward", gradient_and_result},
    {"mse_loss", weighted_pair_losses},
    {"l1_loss", weighted_pair_losses},
    {"smooth_l1_loss", [] { return pair_losses(); }},
    {"huber_loss", weighted_pair_losses},
    {"kl_div", [] { return pair_losses(0.2, 2.0); }},
    {"binary_cross_entropy", [] { return binary_samples(0.1, 0.9, false); }},
    {"binary_cross_entropy_with_logits", [] { return binary_samples(-2.0, 2.0, true); }},
    {"nll_loss", [] { return class_samples(false); }},
    {"nll_loss_backward", nll_backward_samples},
    {"cross_entropy", [] { return class_samples(true); }},
    {"layer_norm", [] { return norm_layer_samples(true); }},
    {"rms_norm", [] { return norm_layer_samples(false); }},
    {"layer_norm_backward", norm_backward_samples},
    {"causal_softmax", causal_samples},
    {"rms_norm_backward", norm_backward_samples},
    {"channel_affine", channel_affine_samples},
    {"channel_affine_backward", channel_affine_backward_samples},
    {"batch_norm", batch_norm_samples},
    {"batch_norm_with_statistics", channel_norm_samples},
    {"sample_variance", sample_variance_samples},
    {"batch_norm_backward", channel_norm_backward_samples},
    {"group_norm", group_norm_samples},
    {"group_norm_backward", group_norm_backward_samples},
};

}  // namespace

bool leaves_elements(const Op& op) {
  return op.name() == "empty" || op.name() == "empty_like" || op.name() == "new_empty";
}

bool is_half(const Op& op) { return op.name() == "allreduce_start" || op.name() == "allreduce_wait"; }

std::vector<Sample> samples_of(const Op& op) {
  const auto found = kSamples.find(op.name());
  if (found != kSamples.end()) return found->second();
  for (const auto* family : {&place_samples(), &factor_samples(), &fourier_samples(), &layer_samples(),
                             &composed_samples(), &collective_samples()}) {
    const auto known = family->find(op.name());
    if (known != family->end()) return known->second();
  }
  for (const std::string_view family : {"create", "shape", "index", "linear algebra"}) {
    if (op.family == family) return {};
  }
  if (op.family == "elementwise" && takes_only_tensors(op)) return elementwise_samples(op);
  return {};
}

}  // namespace kiln::testing
