// Kernels of group_norm and its derivative: a row, the channels of one group of one example, is read once and
// stays in cache.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/channel_kernels.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/reduced.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// The tensors of a job: dense, in the dtype of computation, and alive while it runs.
template <class T>
struct GroupRows {
  GroupNormJob<T> job;
  Tensor x, weight, out;
  std::int64_t rows;

  GroupRows(const Tensor& output, const Tensor& input, const Tensor& factors, const Attrs& attrs)
      : x(dense(input, ops::compute_dtype(input.dtype()))),
        weight(per_channel_numbers(factors, input)),
        out(computed_in(output, x.dtype())) {
    job.groups = attrs.get<std::int64_t>("num_groups");
    job.channels = x.size(1);
    job.inner = x.numel() / (x.size(0) * x.size(1));
    job.epsilon = attrs.get<double>("eps");
    job.x = x.data<T>();
    if (weight) job.weight = weight.data<T>();
    job.out = out.writable<T>();
    rows = x.size(0) * job.groups;
  }

  // As the composition has it: first the dtype of x, then that of computation.
  static Tensor per_channel_numbers(const Tensor& v, const Tensor& x) {
    return v ? dense(cast(v, x.dtype()), ops::compute_dtype(x.dtype())) : Tensor();
  }
  template <class Kernel>
  void run(Kernel kernel) const {
    const std::int64_t work = x.numel() / rows;
    parallel_for(rows, std::max<std::int64_t>(1, 16384 / work),
                 [&](std::int64_t begin, std::int64_t end) { kernel(job, begin, end); });
  }
};

template <class T>
void group_norm(Inputs in, Outputs outputs, const Attrs& attrs) {
  GroupRows<T> rows(outputs[0], in[0], in[1], attrs);
  const Tensor bias = GroupRows<T>::per_channel_numbers(in[2], in[0]);
  if (bias) rows.job.bias = bias.data<T>();
  rows.run(channel_kernels<T>().group_norm);
  finish(outputs[0], rows.out);
}

template <class T>
void group_norm_backward(Inputs in, Outputs outputs, const Attrs& attrs) {
  GroupRows<T> rows(outputs[0], in[1], in[2], attrs);
  const DType wide = rows.x.dtype();
  const Tensor gradient = dense(in[0], wide);
  const IntDims sizes{rows.x.size(0), rows.x.size(1)};
  const Tensor products = Tensor::empty(sizes, wide, Device{}), totals = Tensor::empty(sizes, wide, Device{});
  rows.job.gradient = gradient.data<T>();
  rows.job.products = products.writable<T>();
  rows.job.totals = totals.writable<T>();
  rows.run(channel_kernels<T>().group_norm_backward);
  finish(outputs[0], rows.out);
  fold_into(outputs[1], products, IntDims{0}, Combine::Sum);
  fold_into(outputs[2], totals, IntDims{0}, Combine::Sum);
}

bool takes_elements(const Op&, const Attrs&, Inputs in) { return in[0].numel() > 0; }

void run_forward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  in[0].dtype() == DType::F64 ? group_norm<double>(in, outputs, attrs)
                              : group_norm<float>(in, outputs, attrs);
}
void run_backward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  in[1].dtype() == DType::F64 ? group_norm_backward<double>(in, outputs, attrs)
                              : group_norm_backward<float>(in, outputs, attrs);
}

}  // namespace

void add_group_norm_kernels(Column& column) {
  column.add("group_norm", {.run = run_forward, .takes = takes_elements});
  column.add("group_norm_backward", {.run = run_backward, .takes = takes_elements});
}

}  // namespace kiln::cpu
