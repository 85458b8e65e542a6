// Owns scaled_dot_product_attention, over products and a softmax.
#include <cmath>
#include <limits>

#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

[[noreturn]] void refuse(ErrorKind kind, const std::string& why, std::vector<int> operands,
                         std::string help = {}) {
  throw OpError(kind, "scaled_dot_product_attention: " + why, std::move(operands), std::move(help));
}

Dims leading(const Dims& sizes) { return Dims(sizes.begin(), sizes.end() - 2); }
Dim last(const Dims& sizes, std::size_t from_end) { return sizes[sizes.size() - from_end]; }

// How many heads of the query share one of the key's.
Dim heads_per_key(const TensorType& query, const TensorType& key, const TensorType& value) {
  const auto heads = [](const TensorType& x) { return x.sizes.size() < 3 ? 0 : last(x.sizes, 3); };
  const Dim count = heads(key);
  if (count == 0 || heads(value) != count || heads(query) % count != 0) {
    refuse(
        ErrorKind::Shape,
        "with enable_gqa the heads (dimension -3) of key and value must be equally many and divide those of "
        "the query: " +
            to_string(query) + ", " + to_string(key) + ", " + to_string(value),
        {0, 1, 2});
  }
  return heads(query) / count;
}

TensorType repeated(TensorType x, Dim times) {
  x.sizes[x.sizes.size() - 3] *= times;
  return x;
}
Tensor repeated(const Tensor& x, Dim times) {
  if (times == 1) return x;
  const auto heads = static_cast<std::ptrdiff_t>(x.rank()) - 3;
  Dims wide = x.sizes();
  wide.insert(wide.begin() + heads + 1, times);
  return ops::reshape(ops::expand(ops::unsqueeze(x, static_cast<int>(heads) + 1), wide),
                      repeated(x.type(), times).sizes);
}

void check_operands(const TensorType& query, const TensorType& key, const TensorType& value,
                    const Attrs& attrs) {
  ops::need_float(query, attrs);
  if (key.dtype != query.dtype || value.dtype != query.dtype) {
    refuse(ErrorKind::DType,
           "query, key and value must have one dtype: " + to_string(query) + ", " + to_string(key) + ", " +
               to_string(value),
           {0, 1, 2});
  }
  if (query.sizes.size() < 2 || key.sizes.size() < 2 || value.sizes.size() < 2) {
    refuse(ErrorKind::Shape,
           "query, key and value have at least 2 dimensions, [..., length, features]: " + to_string(query) +
               ", " + to_string(key) + ", " + to_string(value),
           {0, 1, 2});
  }
  if (last(query.sizes, 1) != last(key.sizes, 1)) {
    refuse(ErrorKind::Shape,
           "the query " + to_string(query) + " and the key " + to_string(key) +
               " have different numbers of features",
           {0, 1});
  }
  if (last(key.sizes, 2) != last(value.sizes, 2)) {
    refuse(ErrorKind::Shape,
           "the key " + to_string(key) + " and the value " + to_string(value) + " have different lengths",
           {1, 2});
  }
}

void check_mask(const TensorType& mask, const TensorType& query, const Dims& scores, const Attrs& attrs) {
  if (attrs.get<bool>("is_causal")) {
    refuse(ErrorKind::Value, "give attn_mask or is_causal=true, not both", {3});
  }
  if (mask.dtype != DType::Bool && mask.dtype != query.dtype) {
    refuse(ErrorKind::DType,
           "attn_mask must be bool or " + std::string(name(query.dtype)) + ", it is " + to_string(mask), {3});
  }
  if (!broadcastable_to(mask.sizes, scores) || mask.sizes.empty()) {
    refuse(ErrorKind::Shape,
           "attn_mask " + to_string(mask) + " does not broadcast to the scores " + to_string(scores), {3});
  }
}

struct Types {
  Dims scores, result;
  Types(std::span<const TensorType> in, bool masked, const Attrs& attrs) {
    check_operands(in[0], in[1], in[2], attrs);
    const bool grouped = attrs.get<bool>("enable_gqa");
    const Dim times = grouped ? heads_per_key(in[0], in[1], in[2]) : 1;
    const Dims key = times > 1 ? repeated(in[1], times).sizes : in[1].sizes;
    const Dims value = times > 1 ? repeated(in[2], times).sizes : in[2].sizes;
    scores = broadcast(leading(in[0].sizes), leading(key), "scaled_dot_product_attention");
    result = broadcast(scores, leading(value), "scaled_dot_product_attention");
    for (Dims* sizes : {&scores, &result}) sizes->push_back(last(in[0].sizes, 2));
    scores.push_back(last(key, 2));
    result.push_back(last(value, 1));
    if (masked) check_mask(in[3], in[0], scores, attrs);
  }
};

std::vector<TensorType> infer_attention(std::span<const TensorType> in, const Attrs& attrs) {
  return {rules::with_sizes(in[0], Types(in, !in[3].is_number, attrs).result)};
}

// What the scores are given to see and not to see. A query that may see nothing sees everything, so that
// its softmax and their derivatives are finite, and its result is then set to 0.
struct Mask {
  Tensor hidden;  // bool, true: not seen; or absent
  Tensor added;   // to the scores; or absent
  Tensor blind;   // bool [..., length, 1], queries that see nothing; or absent

  static Mask given(const Tensor& mask, DType dtype) {
    const Dims keys{mask.rank() - 1};
    if (mask.dtype() != DType::Bool) {
      const Tensor lowest = Tensor::number(-std::numeric_limits<double>::infinity());
      const Tensor blind = ops::eq(ops::amax(mask, keys, true), lowest);
      return {{}, ops::to(ops::where(blind, Tensor::number(0.0), mask), dtype), blind};
    }
    const Tensor seen = ops::amax(ops::to(mask, DType::U8), keys, true);
    const Tensor blind = ops::eq(seen, Tensor::number(std::int64_t{0}));
    return {ops::logical_not(ops::logical_or(mask, blind)), {}, blind};
  }

  Tensor apply(const Tensor& scores) const {
    const Tensor lowest = Tensor::number(-std::numeric_limits<double>::infinity());
    if (hidden) return ops::masked_fill(scores, hidden, lowest);
    return added ? scores + added : scores;
  }
};

Tensors attention(const Op&, Inputs in, const Attrs& attrs) {
  const TensorType types[] = {in[0].type(), in[1].type(), in[2].type(), in[3] ? in[3].type() : TensorType{}};
  const Types shapes(types, static_cast<bool>(in[3]), attrs);
  const DType dtype = ops::compute_dtype(types[0].dtype);
  const Dim times = attrs.get<bool>("enable_gqa") ? heads_per_key(types[0], types[1], types[2]) : 1;
  const Dim features = last(types[0].sizes, 1);
  const double* given = attrs.find<double>("scale");
  const double scale = given != nullptr ? *given : 1.0 / std::sqrt(static_cast<double>(features));

  const Tensor query = ops::to(in[0], dtype) * scale;
  const Tensor key = repeated(ops::to(in[1], dtype), times);
  const Tensor value = repeated(ops::to(in[2], dtype), times);
  Mask mask;
  if (in[3]) mask = Mask::given(in[3], dtype);
  const Tensor scores = mask.apply(ops::matmul(query, ops::transpose(key, key.rank() - 2, key.rank() - 1)));
  static const Op& causal_softmax = OpTable::get().at("causal_softmax");
  Tensor weights = attrs.get<bool>("is_causal") ? rules::apply_one(causal_softmax, {scores})
                                                : ops::softmax(scores, scores.rank() - 1);
  const double dropped = attrs.get<double>("dropout_p");
  if (dropped != 0) {
    static const Op& dropout = OpTable::get().at("dropout");
    weights = rules::apply_one(dropout, {weights}, {dropped, true});
  }
  Tensor result = ops::matmul(weights, value);
  if (mask.blind) result = ops::masked_fill(result, mask.blind, Tensor::number(0.0));
  return {ops::to(result, types[0].dtype)};
}

}  // namespace

void add_attention_op(OpTable& table) {
  Op row = ops::composite_row(
      "scaled_dot_product_attention(query: tensor, key: tensor, value: tensor, attn_mask: tensor? = none, "
      "dropout_p: float = 0.0, is_causal: bool = false, *, scale: float? = none, enable_gqa: bool = false)",
      "softmax(query @ key.transpose(-2, -1) * scale) @ value for query [..., l, e], key [..., s, e] and "
      "value "
      "[..., s, v]; `scale` is 1 / sqrt(e) when none. A bool mask is true where a key is seen, another is "
      "added; with `is_causal` query i sees keys 0 to i. A query that sees no key gives 0. With `enable_gqa` "
      "several heads of the query share one of key and value; `dropout_p` drops weights, also outside of "
      "training.",
      ">>> scaled_dot_product_attention(ones(1, 2), ones(2, 2), tensor([[1.0], [3.0]])).tolist()\n[[2.0]]",
      infer_attention, attention);
  row.effects = kDraws;  // with dropout_p
  table.add(std::move(row));
}

}  // namespace kiln
