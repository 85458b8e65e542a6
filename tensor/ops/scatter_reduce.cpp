// Placing with a combination: scatter_reduce and the forms of scatter that come down to it.
#include <fmt/format.h>

#include <limits>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln {
namespace {

using rules::apply_one;
using rules::dim_attr;

Tensor zero() { return Tensor::number(std::int64_t{0}); }
Tensor one() { return Tensor::number(std::int64_t{1}); }

}  // namespace

// ---- Combinations ----

Put put_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("reduce");
  constexpr std::pair<std::string_view, Put> kNames[] = {
      {"sum", Put::Add}, {"mean", Put::Add}, {"prod", Put::Multiply}, {"amax", Put::Max}, {"amin", Put::Min}};
  for (const auto& [known, put] : kNames) {
    if (known == name) return put;
  }
  throw OpError(ErrorKind::Value, fmt::format("{}: reduce cannot be \"{}\"", attrs.op()->name(), name), {},
                "it is one of \"sum\", \"prod\", \"mean\", \"amax\", \"amin\"");
}

bool is_mean(const Attrs& attrs) { return attrs.get<std::string>("reduce") == "mean"; }

Tensor counts_of(const Tensor& x, int dim, const Tensor& index, bool include_self) {
  const Device device = x.device();
  const Tensor own =
      include_self ? ops::ones(x.sizes(), DType::I64, device) : ops::zeros(x.sizes(), DType::I64, device);
  const Tensor all = ops::scatter_add(own, dim, index, ops::ones(index.sizes(), DType::I64, device));
  return ops::masked_fill(all, ops::eq(all, zero()), one());
}

namespace {

template <class T>
T identity_of(Put put) {
  if (put == Put::Multiply) return T(1);
  if (put == Put::Add) return T(0);
  using Limits = std::numeric_limits<T>;
  return put == Put::Max ? Limits::lowest() : Limits::max();
}

}  // namespace

Tensor put_identity(DType dtype, Put put) {
  const bool is_extremum = put == Put::Max || put == Put::Min;
  if (is_float(dtype)) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    return Tensor::number(is_extremum ? (put == Put::Max ? -kInf : kInf) : put == Put::Multiply ? 1.0 : 0.0);
  }
  Tensor number;
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      number = Tensor::number(identity_of<T>(put));
    else if constexpr (std::is_integral_v<T>)
      number = Tensor::number(std::int64_t{identity_of<T>(put)});
  });
  return number;
}

namespace {

std::vector<TensorType> scatter_reduce_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  put_of(attrs);
  return scatter_infer(inputs, attrs);
}

// ---- Derivatives ----

// The part of the source that the index reaches; one number is there for each place.
Tensor reached(const Tensor& source, const Tensor& index, DType dtype) {
  if (source.is_number()) return ops::full(index.sizes(), source, dtype, index.device());
  Tensor part = source;
  for (int d = 0; d < source.rank(); ++d) {
    const Dim length = index.rank() == 0 ? 1 : index.size(d);
    if (length != part.size(d)) part = ops::narrow(part, d, 0, length);
  }
  return ops::reshape(part, index.sizes());
}

// Derivatives of the result by the tensor's own elements, and by those of the source that meet it.
struct Slopes {
  Tensor own;     // sizes of the tensor
  Tensor source;  // sizes of the index
};

// A place with n elements equal to the extremum shares its gradient evenly among them. Nothing is equal to
// nan: what it meets has a gradient of 0 / 0.
Slopes extremum_slopes(const Tensor& x, int dim, const Tensor& index, const Tensor& source, const Tensor& y) {
  const Tensor own = ops::to(ops::eq(x, y), x.dtype());
  const Tensor given = ops::to(ops::eq(source, ops::gather(y, dim, index)), x.dtype());
  const Tensor winners = ops::scatter_add(own, dim, index, given);
  const Tensor share = ops::reciprocal(winners);
  return {own * share, given * ops::gather(share, dim, index)};
}

// The product of all the others. Zeros are taken out of it; where one is among the others it is multiplied by
// that one, which is 0 but has a derivative.
Slopes product_slopes(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  static const Op& reduce = op_named("scatter_reduce");
  struct Parts {
    Tensor safe, is_zero, zero_part;  // without zeros; 1 for each zero; the zeros alone
    explicit Parts(const Tensor& a) {
      const Tensor found = ops::eq(a, zero());
      safe = ops::masked_fill(a, found, one());
      is_zero = ops::to(found, DType::I64);
      zero_part = ops::where(found, a, zero());
    }
  };
  const Parts own(x);
  const Parts given(source);
  const Tensor zeros = ops::scatter_add(own.is_zero, dim, index, given.is_zero);
  const Tensor zero_sum = ops::scatter_add(own.zero_part, dim, index, given.zero_part);
  const Tensor product =
      apply_one(reduce, {own.safe, index, given.safe}, {std::int64_t{dim}, std::string("prod")});
  const auto slope = [](const Parts& parts, const Tensor& total, const Tensor& count, const Tensor& sum) {
    const Tensor others = count - parts.is_zero;
    const Tensor rest = total / parts.safe;
    const Tensor with_zero = ops::where(ops::eq(others, one()), rest * (sum - parts.zero_part), zero());
    return ops::where(ops::eq(others, zero()), rest, with_zero);
  };
  return {slope(own, product, zeros, zero_sum),
          slope(given, ops::gather(product, dim, index), ops::gather(zeros, dim, index),
                ops::gather(zero_sum, dim, index))};
}

Slopes slopes_of(Inputs inputs, const Tensor& y, const Attrs& attrs) {
  const Tensor& index = inputs[1];
  const int dim = dim_attr(attrs, "dim", inputs[0].rank());
  const Tensor source = reached(inputs[2], index, inputs[0].dtype());
  const bool include_self = attrs.get<bool>("include_self");
  // Places that do not count are out of the way.
  const Tensor x = include_self
                       ? inputs[0]
                       : ops::scatter(inputs[0], dim, index, put_identity(inputs[0].dtype(), put_of(attrs)));
  Slopes slopes;
  switch (put_of(attrs)) {
    case Put::Max:
    case Put::Min:
      slopes = extremum_slopes(x, dim, index, source, y);
      break;
    case Put::Multiply:
      slopes = product_slopes(x, dim, index, source);
      break;
    default: {
      const Tensor counts =
          is_mean(attrs) ? ops::to(counts_of(x, dim, index, include_self), x.dtype()) : ops::ones_like(x);
      slopes = {ops::reciprocal(counts), ops::gather(ops::reciprocal(counts), dim, index)};
    }
  }
  if (!include_self) slopes.own = ops::scatter(slopes.own, dim, index, zero());
  return slopes;
}

Tensors scatter_reduce_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", args.inputs[0].rank());
  const Slopes slopes = slopes_of(args.inputs, args.outputs[0], args.attrs);
  Tensors result(3);
  if (args.needs[0]) result[0] = args.grads[0] * slopes.own;
  if (args.needs[2]) {
    const Tensor picked = ops::gather(args.grads[0], dim, args.inputs[1]) * slopes.source;
    result[2] = source_gradient(picked, args.input_types[2]);
  }
  return result;
}
Tensors scatter_reduce_jvp(const JvpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", args.inputs[0].rank());
  const Slopes slopes = slopes_of(args.inputs, args.outputs[0], args.attrs);
  Tensor tangent = args.tangents[0] ? args.tangents[0] * slopes.own : ops::zeros_like(args.outputs[0]);
  if (args.tangents[2]) {
    tangent = ops::scatter_add(tangent, dim, args.inputs[1],
                               reached(args.tangents[2], args.inputs[1], tangent.dtype()) * slopes.source);
  }
  return {tangent};
}

// ---- Forms of scatter ----

Tensors scatter_value_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", inputs[0].rank());
  return {ops::scatter(inputs[0], dim, inputs[1], rules::number_attr(attrs.at("value")))};
}

std::vector<TensorType> scatter_combined_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const auto& reduce = attrs.get<std::string>("reduce");
  if (reduce != "add" && reduce != "multiply") {
    throw OpError(ErrorKind::Value,
                  fmt::format("scatter: reduce is \"add\" or \"multiply\", not \"{}\"", reduce), {},
                  "`scatter_reduce` knows more");
  }
  return scatter_infer(inputs, attrs);
}
Tensors scatter_combined_body(const Op&, Inputs inputs, const Attrs& attrs) {
  static const Op& reduce = op_named("scatter_reduce");
  const std::string word = attrs.get<std::string>("reduce") == "add" ? "sum" : "prod";
  return {apply_one(reduce, {inputs[0], inputs[1], inputs[2]}, {attrs.at("dim"), word})};
}

Op form_row(std::string_view signature, std::string_view documentation, std::string_view example,
            InferFn infer, BodyFn body) {
  return {.signature = Signature::parse(signature),
          .family = "index",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = body,
          .vjp = Rule<VjpFn>::none(kComposite),
          .jvp = Rule<JvpFn>::none(kComposite),
          .batch = Rule<BatchFn>::none(kComposite),
          .traits = kInplace,
          .effects = kMayFail,
          .complex = complex_rules::moves_beside(1U << 1)};
}

}  // namespace

void add_scatter_reduce_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse(
           "scatter_reduce(x: tensor, dim: index, index: tensor, src: tensor, "
           "reduce: str[\"sum\", \"prod\", \"mean\", \"amax\", \"amin\"], *, include_self: bool = true)"),
       .family = "index",
       .documentation =
           "A copy of `x` in which the elements of `src` are combined with those along `dim` where "
           "`index` says; without `include_self`, in place of them.",
       .example =
           ">>> ones(3, dtype=i64).scatter_reduce(0, tensor([2, 2]), tensor([5, 6]), \"amax\").tolist()\n"
           "[1, 1, 6]",
       .infer = scatter_reduce_infer,
       .vjp = scatter_reduce_vjp,
       .jvp = scatter_reduce_jvp,
       .batch = scatter_batch,
       .saves = saves_input(0) | saves_input(1) | saves_input(2) | saves_output(0),
       .lowering = Lowering::Scatter,
       .traits = kInplace,
       .effects = kMayFail,
       .onnx = onnx_rules::scatter_reduce,
       .complex = ComplexRule::none("of complex numbers there is scatter_add")});
  table.add(form_row(
      "scatter.value(x: tensor, dim: index, index: tensor, *, value: number)",
      "`scatter` of one number, by name.",
      ">>> zeros(3, dtype=i64).scatter(0, tensor([2]), value=5).tolist()\n[0, 0, 5]",
      [](std::span<const TensorType> inputs, const Attrs&) { return rules::infer_same(inputs, Attrs()); },
      scatter_value_body));
  table.add(
      form_row("scatter.reduce(x: tensor, dim: index, index: tensor, src: tensor, *, reduce: str[\"add\", "
               "\"multiply\"])",
               "`scatter` that adds or multiplies the elements of `src`, or one number, to those of `x`.",
               ">>> ones(3, dtype=i64).scatter(0, tensor([2, 2]), 5, reduce=\"add\").tolist()\n[1, 1, 11]",
               scatter_combined_infer, scatter_combined_body));
}

}  // namespace kiln
