// Kernels of nll_loss and its derivative.
#include "tensor/ops/class_loss.h"

#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

using ops::loss_reduction;
using ops::LossReduction;

// Targets as places: each prediction's class and whether it counts.
struct Targets {
  Tensor classes;  // i64, contiguous
  std::int64_t count;
  std::int64_t ignored;

  Targets(const Tensor& target, std::int64_t count_of_classes, const Attrs& attrs)
      : classes(dense(target, DType::I64)),
        count(count_of_classes),
        ignored(attrs.get<std::int64_t>("ignore_index")) {
    const auto* data = classes.data<std::int64_t>();
    for (std::int64_t i = 0; i < classes.numel(); ++i) {
      if (data[i] == ignored || (data[i] >= 0 && data[i] < count)) continue;
      // Without the op's name: what was called may be nll_loss or cross_entropy.
      throw OpError(ErrorKind::Index,
                    "target " + std::to_string(data[i]) + " is no class: there are " + std::to_string(count) +
                        " classes, 0 to " + std::to_string(std::max<std::int64_t>(count, 0) - 1),
                    {1}, "check the targets, or give the value to skip as ignore_index");
    }
  }
};

// Weight of each prediction's class, 0 where ignored; contiguous, in the dtype of computation.
template <class T>
Tensor target_weights(const Targets& targets, const Tensor& weight, DType dtype) {
  const Tensor result = Tensor::empty(targets.classes.sizes(), dtype, Device{});
  const Tensor table = weight ? dense(weight, dtype) : Tensor();
  const auto* at = targets.classes.data<std::int64_t>();
  T* to = result.writable<T>();
  for (std::int64_t i = 0; i < result.numel(); ++i)
    to[i] = at[i] == targets.ignored ? T(0) : (table ? table.data<T>()[at[i]] : T(1));
  return result;
}

IntDims all_dims(const Tensor& x) {
  IntDims dims;
  for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

// Place i of the targets in a contiguous tensor with classes: [n, classes, inner].
struct ClassPlaces {
  std::int64_t classes, inner;
  ClassPlaces(const IntDims& targets, std::int64_t class_count) : classes(class_count), inner(1) {
    for (std::size_t d = 1; d < targets.size(); ++d) inner *= targets[d];
  }
  std::int64_t at(std::int64_t i, std::int64_t target) const {
    return (i / inner * classes + target) * inner + i % inner;
  }
};

template <class T>
void nll(const Tensor& output, const Tensor& input, const Tensor& target, const Tensor& weight,
         const Attrs& attrs) {
  const DType dtype = ops::compute_dtype(input.dtype());
  const std::int64_t classes = input.size(class_dim(input.sizes().size()));
  const Targets targets(target, classes, attrs);
  const Tensor x = dense(input, dtype);
  const Tensor weights = target_weights<T>(targets, weight, dtype);
  const LossReduction reduction = loss_reduction(attrs);
  const Tensor result = computed_in(output, dtype);
  const Tensor each =
      reduction == LossReduction::None ? result : Tensor::empty(target.sizes(), dtype, Device{});
  const ClassPlaces places(target.sizes(), classes);
  const auto* at = targets.classes.data<std::int64_t>();
  const T* from = x.data<T>();
  const T* w = weights.data<T>();
  T* to = each.writable<T>();
  for (std::int64_t i = 0; i < each.numel(); ++i)
    to[i] = at[i] == targets.ignored ? T(0) : -from[places.at(i, at[i])] * w[i];
  if (reduction != LossReduction::None) fold_into(result, each, all_dims(each), Combine::Sum);
  if (reduction == LossReduction::Mean)
    *result.writable<T>() /= *fold(weights, all_dims(weights), Combine::Sum).data<T>();
  finish(output, result);
}

template <class T>
void nll_backward(const Tensor& output, const Tensor& grad, const Tensor& target, const Tensor& weight,
                  const Attrs& attrs) {
  const DType dtype = ops::compute_dtype(grad.dtype());
  const std::int64_t classes = attrs.get<std::int64_t>("classes");
  const Targets targets(target, classes, attrs);
  const Tensor weights = target_weights<T>(targets, weight, dtype);
  const LossReduction reduction = loss_reduction(attrs);
  const Tensor shares = dense(grad, dtype);
  const T total =
      reduction == LossReduction::Mean ? *fold(weights, all_dims(weights), Combine::Sum).data<T>() : T(1);
  const Tensor result = computed_in(output, dtype);
  const ClassPlaces places(target.sizes(), classes);
  const auto* at = targets.classes.data<std::int64_t>();
  const T* w = weights.data<T>();
  const T* share = shares.data<T>();
  const std::int64_t step = reduction == LossReduction::None ? 1 : 0;
  T* to = result.writable<T>();
  std::fill_n(to, result.numel(), T(0));
  for (std::int64_t i = 0; i < weights.numel(); ++i)
    if (at[i] != targets.ignored) to[places.at(i, at[i])] = -(share[i * step] / total * w[i]);
  finish(output, result);
}

void nll_loss(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  in[0].dtype() == DType::F64 ? nll<double>(outputs[0], in[0], in[1], in[2], attrs)
                              : nll<float>(outputs[0], in[0], in[1], in[2], attrs);
}
void nll_loss_backward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  in[0].dtype() == DType::F64 ? nll_backward<double>(outputs[0], in[0], in[1], in[2], attrs)
                              : nll_backward<float>(outputs[0], in[0], in[1], in[2], attrs);
}

}  // namespace

void add_class_loss_kernels(Column& column) {
  column.add("nll_loss", nll_loss);
  column.add("nll_loss_backward", nll_loss_backward);
}

}  // namespace kiln::cpu
