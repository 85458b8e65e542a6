// Order, and what of the elements there is: the largest, distinct ones, those that are chosen.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values top_k(Call& call) {
  const Tensor x = call.x(0);
  const Dim count = call.opset() >= 10 ? call.an_int(1) : Dim(call.integer("k", 0));
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const Tensors best = apply_all(
      "topk", {{x}},
      {{"k", count}, {"dim", Dim(axis)}, {"largest", call.integer("largest", 1) != 0}, {"sorted", true}});
  return {best[0], best[1]};
}

Values nonzero(Call& call) { return {ops::transpose(ops::nonzero(call.x(0)), 0, 1)}; }

Values compress(Call& call) {
  Tensor x = call.x(0);
  int axis = 0;
  if (call.attribute("axis") == nullptr) {
    x = ops::reshape(x, Dims{x.numel()});
  } else {
    axis = call.axis(call.integer("axis", 0), x.rank());
  }
  return {ops::index_select(x, axis, ops::select(ops::nonzero(call.x(1)), 1, 0))};
}

// Where each of the distinct elements is first: of all places with its number the lowest.
Tensor first_places(const Tensor& number_of_each, Dim count) {
  const Dim size = number_of_each.numel();
  const Tensor places = ops::arange(0, size, 1, DType::I64);
  const Tensor last = ops::full(Dims{count}, Tensor::number(size.fixed()), DType::I64);
  return apply("scatter_reduce", {last, number_of_each, places},
               {{"dim", Dim(0)}, {"reduce", std::string("amin")}});
}

Values unique(Call& call) {
  const Tensor x = call.x(0);
  const bool has_axis = call.attribute("axis") != nullptr;
  const int axis = has_axis ? call.axis(call.integer("axis", 0), x.rank()) : 0;
  const Tensor from = has_axis ? x : ops::reshape(x, Dims{x.numel()});
  const Tensors found =
      apply_all("unique", {{from}}, {{"return_inverse", true}, {"return_counts", true}, {"dim", Dim(axis)}});
  const Tensor inverse = ops::reshape(found[1], Dims{found[1].numel()});
  const Tensor first = first_places(inverse, found[2].size(0));
  if (call.integer("sorted", 1) != 0) return {found[0], first, inverse, found[2]};
  const Tensor order = ops::argsort(first);  // as they come
  const Tensor rank = ops::argsort(order);
  return {ops::index_select(found[0], axis, order), ops::index_select(first, 0, order),
          ops::index_select(rank, 0, inverse), ops::index_select(found[2], 0, order)};
}

constexpr Operator kOrderOperators[] = {
    {"Compress", compress},
    {"NonZero", nonzero},
    {"TopK", top_k},
    {"Unique", unique},
};

}  // namespace

std::span<const Operator> order_operators() { return kOrderOperators; }

}  // namespace kiln::onnx
