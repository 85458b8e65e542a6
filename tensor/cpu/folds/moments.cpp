// Kernels of reductions in two passes or with a function on top.
#include "tensor/ops/moments.h"

#include <cmath>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/elementwise/pointwise.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

// The first element over `dims` of each result, as fold takes centers. None of `dims` is empty.
Tensor first_elements(const Tensor& x, const IntDims& dims) {
  Layout layout = x.layout();
  for (const std::int64_t d : dims) layout.sizes[static_cast<std::size_t>(d)] = 1;
  const Tensor firsts = contiguous_copy(Tensor::alias(x, layout), accumulator_of(x.dtype()));
  return with_sizes(firsts, ops::reduced_sizes(x.sizes(), dims, false));
}

// ---- var, std --------------------------------------------------------------------------------------------

// The means, by distances from the first elements.
Tensor steady_means(const Tensor& x, const IntDims& dims, double count) {
  if (count == 0) {
    const Tensor nothing = fold(x, dims, Combine::Sum);
    update(nothing, [&]<class T>(T total) { return total / static_cast<T>(count); });
    return nothing;
  }
  const Tensor firsts = first_elements(x, dims);
  const Tensor means = fold(x, dims, Combine::Sum, Map::Distance, firsts);
  update_with(means, firsts,
              [&]<class T>(T total, T first) { return first + total / static_cast<T>(count); });
  return means;
}

// A sum of 0 may be of equal elements, or of squares that are below everything.
bool are_moderate(const Tensor& squares, double count) {
  const Scales scales = scales_of(squares.dtype());
  bool moderate = true;
  const auto look = [&]<class T>(const T* data) {
    for (std::int64_t i = 0; i < squares.numel() && moderate; ++i) {
      const auto mean = static_cast<double>(data[i]) / count;
      moderate = mean >= scales.least && mean <= scales.most;
    }
  };
  squares.dtype() == DType::F64 ? look(squares.data<double>()) : look(squares.data<float>());
  return moderate;
}

template <bool kRoot>
void variance(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& x = inputs[0];
  const IntDims dims = ops::reduced_dims(attrs, x.rank());
  const auto count = static_cast<double>(ops::reduced_count(x.sizes(), dims));
  const Tensor means = steady_means(x, dims, count);
  const Tensor squares = computed_in(outputs[0], accumulator_of(x.dtype()));
  fold_into(squares, x, dims, Combine::Sum, Map::CenteredSquare, means);
  if (kRoot && !are_moderate(squares, count)) return compute_by_body(op, attrs, inputs, outputs);
  const double divisor = degrees(x, attrs);
  update(squares, [&]<class T>(T total) {
    const T value = total / static_cast<T>(divisor);
    return kRoot ? std::sqrt(value) : value;
  });
  finish(outputs[0], squares);
}

// ---- norm ------------------------------------------------------------------------------------------------

// One pass for the usual norms.
bool takes_usual_norm(const Op&, const Attrs& attrs, Inputs) {
  const double p = ops::number_attr(attrs, "p");
  return p == 2.0 || p == 1.0;
}
void norm(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const bool is_euclidean = ops::number_attr(attrs, "p") == 2.0;
  const Tensor x = cast(inputs[0], outputs[0].dtype());
  const Tensor result = computed_in(outputs[0], accumulator_of(x.dtype()));
  fold_into(result, x, ops::reduced_dims(attrs, x.rank()), Combine::Sum,
            is_euclidean ? Map::Square : Map::Abs);
  if (is_euclidean) update(result, [](auto total) { return std::sqrt(total); });
  finish(outputs[0], result);
}

// ---- logsumexp -------------------------------------------------------------------------------------------

// log(sum(exp(x - m))) + m with m the maximum, or 0 where that is infinite.
void logsumexp(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor x = cast(inputs[0], outputs[0].dtype());
  const IntDims dims = ops::reduced_dims(attrs, x.rank());
  const Tensor m = fold(x, dims, Combine::Max);
  update(m, []<class T>(T value) { return std::isinf(value) ? T(0) : value; });
  const Tensor totals = fold(x, dims, Combine::Sum, Map::CenteredExp, m);
  apply_row(kRow_log, {totals}, totals);
  const Tensor result = computed_in(outputs[0], totals.dtype());
  apply_row(kRow_add, {totals, m}, with_sizes(result, totals.sizes()));
  finish(outputs[0], result);
}

}  // namespace

void add_moment_kernels(Column& column) {
  column.add("var", variance<false>);
  column.add("std", variance<true>);
  column.add("norm", {.run = norm, .takes = takes_usual_norm});
  column.add("logsumexp", logsumexp);
}

}  // namespace kiln::cpu
