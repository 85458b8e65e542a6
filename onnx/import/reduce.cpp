// Reductions over dimensions, and running sums.
#include <limits>

#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

struct Over {
  Tensor x;
  Dims dims;
  bool keep = true;
  bool is_nothing = false;  // no dimension is reduced, and that is what the node asks for
};

Over over(Call& call) {
  Over over{call.x(0), {}, call.integer("keepdims", 1) != 0};
  const std::optional<Dims> given = call.ints_or_attribute(1, "axes");
  const int rank = over.x.rank();
  if (given && !given->empty()) {
    over.dims = to_dims(call.axes(*given, rank));
  } else if (call.integer("noop_with_empty_axes", 0) != 0) {
    over.is_nothing = true;
  } else {
    for (int d = 0; d < rank; ++d) over.dims.push_back(d);
  }
  if (over.dims.empty()) over.is_nothing = true;
  return over;
}

// Ops give sums of whole numbers as i64: here they have the type of the elements.
Tensor summed(const Over& over) {
  if (over.is_nothing) return over.x;
  return ops::to(ops::sum(over.x, over.dims, over.keep), over.x.dtype());
}

Values reduce_sum(Call& call) { return {summed(over(call))}; }

Values reduce_mean(Call& call) {
  const Over all = over(call);
  if (all.is_nothing) return {all.x};
  if (is_float(all.x.dtype())) return {ops::mean(all.x, all.dims, all.keep)};
  return {ops::to(ops::mean(ops::to(all.x, DType::F64), all.dims, all.keep), all.x.dtype())};
}

Values reduce_product(Call& call) {
  const Over all = over(call);
  if (all.is_nothing) return {all.x};
  const Tensor product = apply("prod", {all.x}, {{"dim", all.dims}, {"keepdim", all.keep}});
  return {ops::to(product, all.x.dtype())};
}

// Of no element at all the lowest number, or true and false.
template <bool IsMax>
Values extremum(Call& call) {
  const Over all = over(call);
  if (all.is_nothing) return {all.x};
  Dim count = 1;
  for (const Dim d : all.dims) count *= all.x.size(static_cast<int>(d.known()));
  if (count.is_known() && count.known() == 0) {
    if (!is_float(all.x.dtype())) call.refuse("has no element to reduce");
    const double edge = std::numeric_limits<double>::infinity();
    return {ops::sum(all.x, all.dims, all.keep) + scalar(IsMax ? -edge : edge, all.x.dtype())};
  }
  return {IsMax ? ops::amax(all.x, all.dims, all.keep) : ops::amin(all.x, all.dims, all.keep)};
}

Values reduce_l1(Call& call) {
  Over all = over(call);
  all.x = ops::abs(all.x);
  return {summed(all)};
}

Values reduce_l2(Call& call) {
  Over all = over(call);
  const DType dtype = all.x.dtype();
  if (!is_float(dtype)) all.x = ops::to(all.x, DType::F64);
  all.x = all.x * all.x;
  return {ops::to(ops::sqrt(summed(all)), dtype)};
}

Values reduce_sum_square(Call& call) {
  Over all = over(call);
  all.x = all.x * all.x;
  return {summed(all)};
}

Values reduce_log_sum(Call& call) {
  const Over all = over(call);
  const Tensor total = summed(all);
  return {ops::to(ops::log(total), all.x.dtype())};
}

Values reduce_log_sum_exp(Call& call) {
  Over all = over(call);
  const DType dtype = all.x.dtype();
  if (!is_float(dtype)) all.x = ops::to(all.x, DType::F64);
  if (all.is_nothing) return {ops::to(all.x, dtype)};
  Dim count = 1;
  for (const Dim d : all.dims) count *= all.x.size(static_cast<int>(d.known()));
  if (count.is_known() && count.known() == 0) return {ops::to(ops::log(summed(all)), dtype)};
  return {ops::to(ops::logsumexp(all.x, all.dims, all.keep), dtype)};
}

// The place of the extremum along an axis, of several the first or the last.
template <bool IsMax>
Values place_of_extremum(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", 0), x.rank());
  const bool keep = call.integer("keepdims", 1) != 0;
  const bool last = call.integer("select_last_index", 0) != 0;
  const Tensor from = last ? ops::flip(x, Dims{axis}) : x;
  const Tensor place = apply(IsMax ? "argmax" : "argmin", {from}, {{"dim", Dim(axis)}, {"keepdim", keep}});
  if (!last) return {place};
  return {ops::sub(number_operand(x.size(axis) - 1), place)};
}

Values running(Call& call, bool is_sum) {
  Tensor x = call.x(0);
  const DType dtype = x.dtype();
  const int axis = call.axis(call.an_int(1), x.rank());
  const bool exclusive = call.integer("exclusive", 0) != 0;
  const bool reverse = call.integer("reverse", 0) != 0;
  if (reverse) x = ops::flip(x, Dims{axis});
  if (exclusive) {  // one place later, from the number that changes nothing on
    Dims sizes = x.sizes();
    sizes[static_cast<std::size_t>(axis)] = 1;
    const Tensor first = ops::full(sizes, Tensor::number(is_sum ? 0.0 : 1.0), dtype);
    const Tensor parts[] = {first, ops::narrow(x, axis, 0, x.size(axis) - 1)};
    x = ops::cat(parts, axis);
  }
  Tensor result = ops::to(is_sum ? ops::cumsum(x, axis) : ops::cumprod(x, axis), dtype);
  return {reverse ? ops::flip(result, Dims{axis}) : result};
}

Values running_sum(Call& call) { return running(call, true); }
Values running_product(Call& call) { return running(call, false); }

constexpr Operator kReduceOperators[] = {
    {"ArgMax", place_of_extremum<true>},
    {"ArgMin", place_of_extremum<false>},
    {"CumProd", running_product},
    {"CumSum", running_sum},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce_l2},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceMax", extremum<true>},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", extremum<false>},
    {"ReduceProd", reduce_product},
    {"ReduceSum", reduce_sum},
    {"ReduceSumSquare", reduce_sum_square},
};

}  // namespace

std::span<const Operator> reduce_operators() { return kReduceOperators; }

}  // namespace kiln::onnx
