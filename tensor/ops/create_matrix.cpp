// Matrices and grids: identities, triangles, mesh grids, one-hot rows.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/ops/create.h"
#include "tensor/ops/rules.h"

namespace kiln {

void add_create_matrix_ops(OpTable& table);

namespace {

using rules::apply_one;

// ---- eye ----

std::vector<TensorType> eye_infer(std::span<const TensorType>, const Attrs& attrs) {
  const Dim rows = attrs.get<Dim>("n");
  const auto* columns = attrs.find<Dim>("m");
  Dims sizes{rows, columns ? *columns : rows};
  count_elements(sizes);
  return {{rules::dtype_attr(attrs, default_float()), rules::device_attr(attrs), sizes}};
}

// ---- tril, triu ----

std::vector<TensorType> triangle_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs[0].sizes.size() < 2) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("{}: expects at least 2 dimensions, got {}", attrs.op()->name(), to_string(inputs[0])),
        {0});
  }
  return rules::infer_same(inputs, attrs);
}

Tensors triangle_vjp(const VjpArgs& args) { return kiln::bind(args.op, args.grads, args.attrs); }

// ---- meshgrid ----

bool swaps_first_two(const Attrs& attrs, std::size_t count) {
  const auto& indexing = attrs.get<std::string>("indexing");
  if (indexing != "ij" && indexing != "xy") {
    throw OpError(ErrorKind::Value,
                  fmt::format("meshgrid: indexing is \"ij\" or \"xy\", not \"{}\"", indexing));
  }
  return indexing == "xy" && count >= 2;
}
std::vector<TensorType> meshgrid_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  Dims sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sizes.size() > 1) {
      throw OpError(ErrorKind::Shape, fmt::format("meshgrid: expects vectors, got {}", to_string(inputs[i])),
                    {static_cast<int>(i)});
    }
    sizes.push_back(count_elements(inputs[i].sizes));
  }
  if (swaps_first_two(attrs, inputs.size())) std::swap(sizes[0], sizes[1]);
  std::vector<TensorType> types;
  for (const TensorType& input : inputs) types.push_back(rules::with_sizes(input, sizes));
  return types;
}
Tensors meshgrid_body(const Op&, Inputs inputs, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const std::vector<TensorType> results = meshgrid_infer(types, attrs);
  Tensors grids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool swapped = i < 2 && swaps_first_two(attrs, inputs.size());
    Dims sizes(inputs.size(), 1);
    sizes[swapped ? 1 - i : i] = -1;
    if (inputs[i].numel() == 0) sizes[swapped ? 1 - i : i] = 0;
    grids.push_back(ops::expand(ops::reshape(inputs[i], sizes), results[i].sizes));
  }
  return grids;
}

// ---- one_hot ----

std::vector<TensorType> one_hot_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  rules::check_index_dtype(inputs[0], "one_hot", 0);
  const Dim classes = attrs.get<Dim>("num_classes");
  if (classes < -1) {
    throw OpError(ErrorKind::Value,
                  fmt::format("one_hot: num_classes must not be negative, it is {}", classes));
  }
  Dims sizes = inputs[0].sizes;
  sizes.push_back(classes);
  return {{DType::I64, inputs[0].device, sizes}};
}
Tensors one_hot_batch(const BatchArgs& args) {
  if (args.attrs.get<std::int64_t>("num_classes") == -1) {
    throw OpError(ErrorKind::Value, "one_hot: inside vmap num_classes must be given", {0});
  }
  return rules::batch_through(args);
}

// ---- Rows ----

Op triangle_row(std::string_view signature, std::string_view documentation, std::string_view example) {
  return {.signature = Signature::parse(signature),
          .family = "create",
          .documentation = documentation,
          .example = example,
          .infer = triangle_infer,
          .vjp = triangle_vjp,
          .jvp = rules::jvp_linear,
          .batch = rules::batch_through,
          .lowering = lowering::Gather{},
          .traits = kCheapToRecompute | kInplace,
          .onnx = onnx_rules::triangle,
          .complex = ComplexRule::PartByPart};
}

}  // namespace

void add_create_matrix_ops(OpTable& table) {
  table.add({.signature = Signature::parse(
                 "eye(n: int, m: int? = none, *, dtype: dtype? = none, device: device? = none)"),
             .family = "create",
             .documentation = "A matrix with ones on its diagonal and zeros elsewhere.",
             .example = ">>> eye(2, 3, dtype=i64).tolist()\n[[1, 0, 0], [0, 1, 0]]",
             .infer = eye_infer,
             .vjp = Rule<VjpFn>::none("it has no tensor inputs"),
             .jvp = Rule<JvpFn>::none("it has no tensor inputs"),
             .batch = Rule<BatchFn>::none("it has no tensor inputs"),
             .lowering = Lowering::Create,
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::eye,
             .complex = ComplexRule::Moves});
  table.add(triangle_row("tril(x: tensor, diagonal: int = 0)",
                         "The lower triangle of every matrix, zeros above `diagonal`.",
                         ">>> tril(ones(2, 2, dtype=i64)).tolist()\n[[1, 0], [1, 1]]"));
  table.add(triangle_row("triu(x: tensor, diagonal: int = 0)",
                         "The upper triangle of every matrix, zeros below `diagonal`.",
                         ">>> triu(ones(2, 2, dtype=i64)).tolist()\n[[1, 1], [0, 1]]"));
  table.add(
      {.signature = Signature::parse("meshgrid(tensors: tensors, indexing: str[\"ij\", \"xy\"] = \"ij\")"),
       .family = "create",
       .documentation =
           "For vectors of sizes n, m, …: views of shape [n, m, …], the i-th varying along dimension i "
           "(\"xy\" swaps the first two).",
       .example =
           ">>> [g.tolist() for g in meshgrid(arange(2), arange(2))]\n[[[0, 0], [1, 1]], [[0, 1], [0, 1]]]",
       .infer = meshgrid_infer,
       .decompose = meshgrid_body,
       .vjp = Rule<VjpFn>::none(kComposite),
       .jvp = Rule<JvpFn>::none(kComposite),
       .batch = Rule<BatchFn>::none(kComposite),
       .outputs = kVariadic,
       .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("one_hot(x: tensor, num_classes: int = -1)"),
             .family = "create",
             .documentation =
                 "For every integer a row of zeros with a one at its place. `num_classes` -1 takes the "
                 "largest and one more.",
             .example = ">>> one_hot(tensor([0, 2]), 3).tolist()\n[[1, 0, 0], [0, 0, 1]]",
             .infer = one_hot_infer,
             .vjp = Rule<VjpFn>::none("integers have no derivative"),
             .jvp = Rule<JvpFn>::none("integers have no derivative"),
             .batch = one_hot_batch,
             .lowering = Lowering::Scatter,
             .traits = kStopsGradient,
             .effects = kMayFail,
             .onnx = onnx_rules::one_hot});
}

std::int64_t triangle_diagonal(const Attrs& attrs) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  return std::clamp<std::int64_t>(attrs.get<std::int64_t>("diagonal"), -kFar, kFar);
}

void check_some_class(const Tensor& index) {
  if (index.numel() == 0)
    throw OpError(ErrorKind::Value, "one_hot: num_classes cannot be taken from an empty tensor", {0});
}
Tensor largest_index(const Tensor& index) {
  static const Attrs amax(op_named("amax"));
  return run_eager(*amax.op(), {&index, 1}, amax)[0];
}
TensorType one_hot_type(const Tensor& index, std::int64_t largest) {
  Dims sizes = index.sizes();
  sizes.push_back(std::max<std::int64_t>(largest + 1, 0));
  return {DType::I64, index.device(), sizes};
}
OpError wrong_class(std::int64_t index, std::int64_t classes) {
  return OpError(ErrorKind::Index,
                 fmt::format("one_hot: class {} is out of bounds for {} classes", index, classes), {0});
}

namespace ops {

Tensor tril(const Tensor& x, Dim diagonal) {
  static const Op& row = op_named("tril");
  return apply_one(row, {x}, {diagonal});
}
Tensor triu(const Tensor& x, Dim diagonal) {
  static const Op& row = op_named("triu");
  return apply_one(row, {x}, {diagonal});
}
Tensor one_hot(const Tensor& index, Dim classes) {
  static const Op& row = op_named("one_hot");
  return apply_one(row, {index}, {classes});
}

}  // namespace ops
}  // namespace kiln
