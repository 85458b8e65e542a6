// Layers that carry a state along the sequence: linear attention, and the causal convolution before it.
#include <cmath>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// A convolution of each channel over the places before, which go on from those of the call before.
Values causal_convolution(Call& call) {
  const Tensor x = call.x(0), weight = call.x(1);
  if (x.rank() != 3 || weight.rank() != 3)
    call.refuse("needs x [n, channels, length] and a weight [channels, 1, k]");
  const Dim before = weight.size(2) - 1;
  const Tensor past = call.has(3) ? call.x(3) : ops::zeros(Dims{x.size(0), x.size(1), before}, x.dtype());
  const Tensor parts[] = {past, x};
  const Tensor all = ops::cat(parts, 2);
  Tensor made = apply("convolution", {all, weight, call.maybe(2)}, {{"groups", x.size(1)}});
  const std::string activation = call.word("activation", "none");
  if (activation == "silu" || activation == "swish") {
    made = ops::to(ops::silu(ops::to(made, DType::F32)), x.dtype());
  } else if (activation != "none") {
    call.refuse("has the unknown activation " + activation);
  }
  return {made, ops::narrow(all, 2, all.size(2) - before, before)};
}

// [n, length, heads * size] as [n, heads, length, size], in f32.
Tensor apart(const Tensor& x, Dim heads) {
  const Tensor parts = ops::reshape(x, Dims{x.size(0), x.size(1), heads, floor_div(x.size(2), heads)});
  return ops::to(ops::transpose(parts, 1, 2), DType::F32);
}

struct Rule {
  bool is_gated, corrects;
};
Rule rule_of(Call& call) {
  const std::string word = call.word("update_rule", "gated_delta");
  const Rule rule{word == "gated" || word == "gated_delta", word == "delta" || word == "gated_delta"};
  if (!rule.is_gated && !rule.corrects && word != "linear")
    call.refuse("has the unknown update_rule " + word);
  if (rule.is_gated != call.has(4) || rule.corrects != call.has(5))
    call.refuse("has decay and beta where the rule " + word + " has none, or the other way round");
  return rule;
}

// One step: the state [n, heads, keys, values] decays, is corrected by what it knows already, and written to.
Tensor stepped(const Rule& rule, Tensor state, const Tensor& key, Tensor value, const Tensor& decay,
               const Tensor& beta) {
  if (rule.is_gated) state = state * ops::unsqueeze(ops::exp(decay), 3);
  if (rule.corrects) {
    const Tensor known = ops::squeeze(ops::matmul(ops::unsqueeze(key, 2), state), Dims{2});
    value = beta * (value - known);
  }
  return state + ops::unsqueeze(key, 3) * ops::unsqueeze(value, 2);
}

Values linear_attention(Call& call) {
  const Dim heads = call.integer("q_num_heads", 0), own = call.integer("kv_num_heads", 0);
  if (heads < 1 || own < 1 || heads % own != 0)
    call.refuse("needs q_num_heads as a multiple of kv_num_heads");
  const Rule rule = rule_of(call);
  const Tensor query = apart(call.x(0), heads), key = apart(call.x(1), own), value = apart(call.x(2), own);
  const Tensor decay = rule.is_gated ? apart(call.x(4), own) : Tensor();
  const Tensor beta = rule.corrects ? apart(call.x(5), call.x(5).size(2)) : Tensor();
  const Dim n = query.size(0), steps = query.size(2), keys = key.size(3), values = value.size(3);
  const DType state_dtype = call.has(3) ? call.x(3).dtype() : call.x(0).dtype();
  Tensor state =
      call.has(3) ? ops::to(call.x(3), DType::F32) : ops::zeros(Dims{n, own, keys, values}, DType::F32);
  double scale = call.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(keys.fixed()));
  const auto at = [](const Tensor& x, std::int64_t t) { return x ? ops::select(x, 2, t) : x; };
  std::vector<Tensor> results;
  for (std::int64_t t = 0; t < steps.fixed(); ++t) {
    state = stepped(rule, state, at(key, t), at(value, t), at(decay, t), at(beta, t));
    // Each head of the state is read by as many heads of queries.
    const Tensor asked = ops::reshape(at(query, t), Dims{n, own, floor_div(heads, own), keys});
    results.push_back(ops::reshape(ops::matmul(asked, state), Dims{n, heads * values}) * scale);
  }
  if (results.empty()) call.refuse("has no step");
  return {ops::to(ops::stack(results, 1), call.x(0).dtype()), ops::to(state, state_dtype)};
}

constexpr Operator kLinearAttentionOperators[] = {
    {"CausalConvWithState", causal_convolution},
    {"LinearAttention", linear_attention},
};

}  // namespace

std::span<const Operator> linear_attention_operators() { return kLinearAttentionOperators; }

}  // namespace kiln::onnx
