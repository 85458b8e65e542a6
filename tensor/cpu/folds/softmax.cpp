// Kernels of softmax, log_softmax and their derivatives: one pass over each row in cache.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/rows.h"

namespace kiln::cpu {
namespace {

int dim_of(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

// Runs a program along `dim` of one or two tensors of equal sizes.
void along(RowProgram program, const Tensor& output, Inputs in, int dim) {
  if (output.numel() == 0) return;
  RowJob job;
  job.size = in[0].rank() == 0 ? 1 : in[0].size(dim);
  Tensor rows[2];
  for (std::size_t i = 0; i < in.size(); ++i) {
    rows[i] = rows_along(in[i], dim);
    job.in[i] = rows[i].raw();
  }
  const Tensor result = rows_for(output, dim);
  job.out = result.raw_writable();
  job.rows = result.numel() / job.size;
  run_rows(program, output.dtype(), job);
  rows_back(output, result, dim);
}

// A longer row does not stay in cache between the passes: over smaller ops it is shared out among threads,
// and Ctrl-C is seen within it.
bool fits(const Op&, const Attrs& attrs, Inputs inputs) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  const Tensor& x = inputs[0];
  return x.rank() == 0 || x.size(dim_of(attrs, x.rank())) <= kMost;
}

template <RowProgram kProgram>
void run(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& output = outputs[0];
  const Tensor x = cast(inputs[0], output.dtype());
  along(kProgram, output, {&x, 1}, dim_of(attrs, x.rank()));
}

template <RowProgram kProgram>
void run_backward(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  along(kProgram, outputs[0], inputs, dim_of(attrs, inputs[0].rank()));
}

}  // namespace

void add_softmax_kernels(Column& column) {
  column.add("softmax", {.run = run<RowProgram::Softmax>, .takes = fits});
  column.add("log_softmax", {.run = run<RowProgram::LogSoftmax>, .takes = fits});
  column.add("softmax_backward", {.run = run_backward<RowProgram::SoftmaxBackward>, .takes = fits});
  column.add("log_softmax_backward", {.run = run_backward<RowProgram::LogSoftmaxBackward>, .takes = fits});
}

}  // namespace kiln::cpu
