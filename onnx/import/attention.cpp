// Attention, and the rotation of its queries and keys by their places.
#include <cmath>
#include <limits>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// [n, length, heads * size] as [n, heads, length, size].
Tensor heads_apart(Call& call, const Tensor& x, std::string_view attribute) {
  if (x.rank() == 4) return x;
  const Dim heads = call.integer(attribute, 0);
  if (x.rank() != 3 || heads < 1)
    call.refuse("needs " + std::string(attribute) + " for " + to_string(x.type()));
  return ops::transpose(ops::reshape(x, Dims{x.size(0), x.size(1), heads, floor_div(x.size(2), heads)}), 1,
                        2);
}

// Each head of keys and values serves as many heads of queries.
Tensor repeated(const Tensor& x, Dim heads) {
  if (x.size(1) == heads) return x;
  const Dim each = floor_div(heads, x.size(1));
  const Dims spread{x.size(0), x.size(1), each, x.size(2), x.size(3)};
  return ops::reshape(ops::expand(ops::unsqueeze(x, 2), spread),
                      Dims{x.size(0), heads, x.size(2), x.size(3)});
}

Tensor lowest(DType dtype) { return scalar(-std::numeric_limits<double>::infinity(), dtype); }

// 0 where true, else minus infinity.
Tensor as_bias(const Tensor& seen, DType dtype) { return ops::where(seen, scalar(0, dtype), lowest(dtype)); }

// A mask that ends before the keys do hides the rest.
Tensor mask_bias(const Tensor& mask, Dim keys, DType dtype) {
  const Tensor bias = mask.dtype() == DType::Bool ? as_bias(mask, dtype) : ops::to(mask, dtype);
  const Dim missing = keys - mask.size(mask.rank() - 1);
  if (missing.is_known() && missing.known() == 0) return bias;
  return apply("constant_pad", {bias},
               {{"pad", Dims{0, missing}}, {"value", -std::numeric_limits<double>::infinity()}});
}

struct Parts {
  Tensor query, key, value;  // [n, heads, length, size]
  Tensor bias;               // absent: none
};

// How far the place of a query among the keys is from the diagonal: [n or 1, 1, queries, keys].
Tensor behind(Call& call, const Parts& parts) {
  const Dim queries = parts.query.size(2), keys = parts.key.size(2);
  Tensor row = ops::reshape(ops::arange(0, queries, 1, DType::I64), Dims{1, 1, queries, 1});
  if (call.has(4)) {
    row = ops::add(row, number_operand(call.x(4).size(2)));
  } else if (call.has(6)) {
    const Tensor lengths = ops::reshape(ops::to(call.x(6), DType::I64), Dims{-1, 1, 1, 1});
    row = ops::add(row, ops::sub(lengths, number_operand(queries)));
  }
  return ops::sub(row, ops::reshape(ops::arange(0, keys, 1, DType::I64), Dims{1, 1, 1, keys}));
}

Tensor added(const Tensor& a, const Tensor& b) { return a ? ops::add(a, b) : b; }

Tensor bias_of(Call& call, const Parts& parts) {
  const DType dtype = parts.query.dtype();
  const Dim keys = parts.key.size(2);
  Tensor bias = call.has(3) ? mask_bias(call.x(3), keys, dtype) : Tensor();
  const Tensor zero = Tensor::number(std::int64_t{0});
  const std::int64_t left = call.integer("left_window_size", -1),
                     right = call.integer("right_window_size", -1);
  if (call.integer("is_causal", 0) != 0)
    bias = added(bias, as_bias(ops::ge(behind(call, parts), zero), dtype));
  if (left >= 0) bias = added(bias, as_bias(ops::le(behind(call, parts), Tensor::number(left)), dtype));
  if (right >= 0) bias = added(bias, as_bias(ops::ge(behind(call, parts), Tensor::number(-right)), dtype));
  if (call.has(6)) {
    const Tensor lengths = ops::reshape(ops::to(call.x(6), DType::I64), Dims{-1, 1, 1, 1});
    const Tensor places = ops::reshape(ops::arange(0, keys, 1, DType::I64), Dims{1, 1, 1, keys});
    bias = added(bias, as_bias(ops::lt(places, lengths), dtype));
  }
  return bias;
}

// A query that sees no key gives zeros.
Tensor weights_of(Tensor scores, const Tensor& bias) {
  const int last = scores.rank() - 1;
  if (!bias) return ops::softmax(scores, last);
  const Tensor sees_none = ops::eq(ops::amax(bias, Dims{bias.rank() - 1}, true), lowest(bias.dtype()));
  const Tensor zero = scalar(0, scores.dtype());
  const Tensor softened = ops::softmax(ops::where(sees_none, zero, scores), last);
  return ops::where(sees_none, zero, softened);
}

Values attention(Call& call) {
  Parts parts{heads_apart(call, call.x(0), "q_num_heads"),
              heads_apart(call, call.x(1), "kv_num_heads"),
              heads_apart(call, call.x(2), "kv_num_heads"),
              {}};
  if (call.has(4)) parts.key = ops::cat(std::vector<Tensor>{call.x(4), parts.key}, 2);
  if (call.has(5)) parts.value = ops::cat(std::vector<Tensor>{call.x(5), parts.value}, 2);
  const Tensor present_key = parts.key, present_value = parts.value;
  const Tensor bias = bias_of(call, parts);
  const Dim heads = parts.query.size(1);
  const Tensor key = repeated(parts.key, heads), value = repeated(parts.value, heads);
  const DType dtype = parts.query.dtype();
  const double size = static_cast<double>(parts.query.size(3).fixed());
  const Tensor scale = scalar(std::sqrt(call.real("scale", 1 / std::sqrt(size))), dtype);
  Tensor scores = ops::matmul(ops::mul(parts.query, scale), ops::transpose(ops::mul(key, scale), 2, 3));
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  Tensor shown = scores;
  const double cap = call.real("softcap", 0);
  if (cap > 0) scores = ops::mul(ops::tanh(ops::div(scores, scalar(cap, dtype))), scalar(cap, dtype));
  // Before version 24 the number of the mode counted the mask before the cap.
  if (mode == 1) shown = scores;
  if (bias) scores = ops::add(scores, bias);
  if (mode == 2) shown = scores;
  const AttributeProto* precision = call.attribute("softmax_precision");
  if (precision != nullptr) scores = ops::to(scores, dtype_of(static_cast<ElementType>(precision->i)));
  const Tensor weights = ops::to(weights_of(scores, bias), dtype);
  if (mode == 3) shown = weights;
  Tensor result = ops::matmul(weights, value);
  if (call.x(0).rank() == 3) {
    const Tensor together = ops::transpose(result, 1, 2);
    result = ops::reshape(together, Dims{result.size(0), result.size(2), result.size(1) * result.size(3)});
  }
  return {result, present_key, present_value, shown};
}

// Attention whose scores and weights the model's own graphs change.
Values flex_attention(Call& call) {
  const Tensor query = call.x(0);
  if (query.rank() != 4 || call.x(1).rank() != 4 || call.x(2).rank() != 4)
    call.refuse("needs queries, keys and values of rank 4");
  const Tensor key = repeated(call.x(1), query.size(1)), value = repeated(call.x(2), query.size(1));
  const double size = static_cast<double>(query.size(3).fixed());
  const Tensor scale = scalar(std::sqrt(call.real("scale", 1 / std::sqrt(size))), query.dtype());
  const AttributeProto* precision = call.attribute("softmax_precision");
  const DType dtype = precision != nullptr          ? dtype_of(static_cast<ElementType>(precision->i))
                      : query.dtype() == DType::F64 ? DType::F64
                                                    : DType::F32;
  const auto changed = [&](std::string_view graph, const Tensor& x) {
    if (call.attribute(graph) == nullptr) return x;
    const Values made = call.run_graph(graph, {x});
    if (made.size() != 1 || !made[0].tensor) call.refuse(std::string(graph) + " must give one tensor");
    return ops::to(made[0].tensor, dtype);
  };
  const Tensor scores = ops::matmul(ops::mul(query, scale), ops::transpose(ops::mul(key, scale), 2, 3));
  const Tensor weights = changed("prob_mod", ops::softmax(changed("score_mod", ops::to(scores, dtype)), 3));
  return {ops::to(ops::matmul(weights, ops::to(value, dtype)), query.dtype())};
}

Values rotary(Call& call) {
  const Tensor given = call.x(0);
  Tensor x = given.rank() == 4 ? ops::transpose(given, 1, 2) : given;  // [n, length, heads, size]
  if (x.rank() == 3) {
    const Dim heads = call.integer("num_heads", 0);
    if (heads < 1) call.refuse("needs num_heads for " + to_string(x.type()));
    x = ops::reshape(x, Dims{x.size(0), x.size(1), heads, floor_div(x.size(2), heads)});
  }
  Tensor cosines = call.x(1), sines = call.x(2);
  if (call.has(3)) {
    cosines = ops::embedding(ops::to(call.x(3), DType::I64), cosines);
    sines = ops::embedding(ops::to(call.x(3), DType::I64), sines);
  }
  cosines = ops::unsqueeze(cosines, 2);
  sines = ops::unsqueeze(sines, 2);
  const Dim all = x.size(3);
  const std::int64_t wanted = call.integer("rotary_embedding_dim", 0);
  const Dim turned = wanted == 0 ? all : Dim(wanted);
  const Dim half = floor_div(turned, 2);
  const Tensor part = ops::narrow(x, 3, 0, turned);
  const bool is_interleaved = call.integer("interleaved", 0) != 0;
  const Tensor a = is_interleaved ? ops::slice(part, 3, 0, turned, 2) : ops::narrow(part, 3, 0, half);
  const Tensor b = is_interleaved ? ops::slice(part, 3, 1, turned, 2) : ops::narrow(part, 3, half, half);
  const Tensor pair[] = {cosines * a - sines * b, sines * a + cosines * b};
  const Tensor rotated = is_interleaved ? ops::reshape(ops::stack(pair, 4), part.sizes()) : ops::cat(pair, 3);
  const Tensor pieces[] = {rotated, ops::narrow(x, 3, turned, all - turned)};
  const Tensor joined = wanted == 0 ? rotated : ops::cat(pieces, 3);
  return {given.rank() == 4 ? ops::transpose(joined, 1, 2) : ops::reshape(joined, given.sizes())};
}

constexpr Operator kAttentionOperators[] = {
    {"Attention", attention},
    {"FlexAttention", flex_attention, "ai.onnx.preview"},
    {"RotaryEmbedding", rotary},
};

}  // namespace

std::span<const Operator> attention_operators() { return kAttentionOperators; }

}  // namespace kiln::onnx
