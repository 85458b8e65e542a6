// Kernels of softmax, log_softmax and their derivatives: one pass over each row in cache, or whole passes
// along columns.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/elementwise/pointwise.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/cpu/folds/rows.h"
#include "tensor/ops/reduced.h"

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

// ---- Along columns ---------------------------------------------------------------------------------------

// Rows that do not lie in memory as such would be copied there and back. Where neighbouring columns do, whole
// passes over the tensor are better: the same operations in the same order.
bool goes_by_columns(const Tensor& x, int dim) {
  constexpr Dim kLeast = 16;
  if (x.rank() < 2 || !x.is_contiguous() || x.numel() == 0) return false;
  return count_elements(std::span<const Dim>(x.sizes()).subspan(static_cast<std::size_t>(dim) + 1)) >= kLeast;
}

void by_columns(RowProgram program, const Tensor& output, const Tensor& x, int dim) {
  const Dims dims{dim}, kept = ops::reduced_sizes(x.sizes(), dims, true);
  const Tensor highest = fold(x, dims, Combine::Max);
  const Tensor shifted = computed_in(output, ops::compute_dtype(x.dtype()));
  apply_row(kRow_sub, {cast(x, shifted.dtype()), with_sizes(highest, kept)}, shifted);
  if (program == RowProgram::Softmax) {
    apply_row(kRow_exp, {shifted}, shifted);
    const Tensor total = with_sizes(fold(shifted, dims, Combine::Sum), kept);
    apply_row(kRow_reciprocal, {total}, total);
    apply_row(kRow_mul, {shifted, total}, shifted);
  } else {
    const Tensor total = with_sizes(fold(x, dims, Combine::Sum, Map::CenteredExp, highest), kept);
    apply_row(kRow_log, {total}, total);
    apply_row(kRow_sub, {shifted, total}, shifted);
  }
  finish(output, shifted);
}

template <RowProgram kProgram>
void run(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& output = outputs[0];
  const Tensor x = cast(inputs[0], output.dtype());
  const int dim = dim_of(attrs, x.rank());
  if (goes_by_columns(x, dim)) return by_columns(kProgram, output, x, dim);
  along(kProgram, output, {&x, 1}, dim);
}

template <RowProgram kProgram>
void run_backward(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  along(kProgram, outputs[0], inputs, dim_of(attrs, inputs[0].rank()));
}

}  // namespace

void add_softmax_kernels(Column& column) {
  column.add("softmax", run<RowProgram::Softmax>);
  column.add("log_softmax", run<RowProgram::LogSoftmax>);
  column.add("softmax_backward", run_backward<RowProgram::SoftmaxBackward>);
  column.add("log_softmax_backward", run_backward<RowProgram::LogSoftmaxBackward>);
}

}  // namespace kiln::cpu
