// Distinct elements and slices.
#include "tensor/ops/unique.h"

#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"

namespace kiln {

void add_unique_ops(OpTable& table);

namespace {

constexpr std::string_view kWhyNoDerivative = "which elements are distinct is not a continuous question";

std::vector<TensorType> unique_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType& x = inputs[0];
  Dims sizes{-1};
  Dims inverse = x.sizes;
  if (attrs.has("dim")) {
    const int dim = rules::dim_attr(attrs, "dim", static_cast<int>(x.sizes.size()));
    if (x.sizes.empty()) throw OpError(ErrorKind::Shape, "unique: a 0-d tensor has no dimension", {0});
    sizes = x.sizes;
    inverse = Dims{x.sizes[static_cast<std::size_t>(dim)]};
    sizes[static_cast<std::size_t>(dim)] = -1;
  }
  std::vector<TensorType> types{rules::with_sizes(x, sizes)};
  if (attrs.get<bool>("return_inverse")) types.push_back({DType::I64, x.device, inverse});
  if (attrs.get<bool>("return_counts")) types.push_back({DType::I64, x.device, Dims{-1}});
  return types;
}

// Complex numbers in the order of their real parts, then of their imaginary parts: slices of pairs.
Tensors unique_of_complex(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& z = inputs[0];
  const bool is_along = attrs.has("dim");
  if (is_along && z.rank() == 0)
    throw OpError(ErrorKind::Shape, "unique: a 0-d tensor has no dimension", {0});
  Attrs of_slices = attrs;
  of_slices.set("dim", Dim(is_along ? rules::dim_attr(attrs, "dim", z.rank()) : 0));
  const Tensor pairs = ops::view_as_real(ops::contiguous(is_along ? z : ops::reshape(z, Dims{-1})));
  Tensors results = kiln::bind(op, {&pairs, 1}, of_slices);
  results[0] = ops::view_as_complex(results[0]);
  if (!is_along && attrs.get<bool>("return_inverse")) results[1] = ops::reshape(results[1], z.sizes());
  return results;
}

}  // namespace

Tensors unique_with_places(const Tensor& x) {
  static const Op& unique = OpTable::get().at("unique");
  static const Attrs attrs = Attrs(unique).set("return_inverse", true);
  const Tensor operands[] = {x};
  return bind(unique, operands, attrs);
}

void add_unique_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("unique(x: tensor, sorted: bool = true, return_inverse: bool = false, "
                                     "return_counts: bool = false, dim: index? = none)"),
       .family = "index",
       .documentation =
           "The distinct elements, or slices along `dim`, in ascending order; if asked for, also which of "
           "them each one was, and how often each occurs. NaN comes last and equals nothing, so that a slice "
           "with one is equal to none. Complex numbers are in the order of their real parts, then of their "
           "imaginary ones.",
       .example = ">>> unique(tensor([3, 1, 3])).tolist()\n[1, 3]",
       .infer = unique_infer,
       .vjp = Rule<VjpFn>::none(kWhyNoDerivative),
       .jvp = Rule<JvpFn>::none(kWhyNoDerivative),
       .batch =
           Rule<BatchFn>::none("the number of distinct elements differs between the examples of a batch"),
       .lowering = Lowering::Library,
       .traits = kDataDependent,
       .outputs = kOnDemand,
       .onnx = OnnxRule::none(onnx_rules::kNoGraph),
       .complex = unique_of_complex});
}

}  // namespace kiln
