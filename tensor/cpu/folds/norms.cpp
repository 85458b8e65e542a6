// Kernels of the norms over the last dimensions, and of their derivatives.
#include "tensor/ops/norms.h"

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/cpu/folds/rows.h"

namespace kiln::cpu {
namespace {

// The tensors of a row program: dense, of one dtype, and alive while it runs.
struct RowInputs {
  RowJob job;
  Tensor kept[4];

  RowInputs(Inputs full, Inputs columns, const Attrs& attrs) {
    const DType dtype = full[0].dtype();
    job.size = count_elements(attrs.get<Dims>("normalized_shape"));
    job.epsilon = norm_epsilon(attrs, dtype);
    job.rows = full[0].numel() / job.size;
    for (std::size_t i = 0; i < full.size(); ++i) {
      kept[i] = dense(full[i], dtype);
      job.in[i] = kept[i].raw();
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i]) continue;
      kept[2 + i] = dense(columns[i], dtype);
      job.column[i] = kept[2 + i].raw();
    }
  }
};

template <RowProgram kProgram>
void norm(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  RowInputs rows(in.first(1), in.subspan(1), attrs);
  const Tensor& y = outputs[0];
  rows.job.out = y.raw_writable();
  run_rows(kProgram, y.dtype(), rows.job);
}

// The gradient by x, and the sums over rows that weight and bias take, [2, size].
Tensor sums_over_rows(RowProgram program, DType dtype, RowInputs& rows) {
  RowJob& job = rows.job;
  const Dim sizes[] = {2, job.rows};
  const Tensor stats = Tensor::empty(sizes, accumulator_of(dtype), Device{});
  std::byte* memory = stats.raw_writable();
  if (program == RowProgram::LayerNormBackward) job.row_out[0] = memory;
  job.row_out[1] = memory + job.rows * static_cast<std::int64_t>(size_of(stats.dtype()));
  run_rows(program, dtype, job);
  NormColumnsJob columns;
  columns.rows = job.rows;
  columns.size = job.size;
  columns.gradient = job.in[0];
  columns.x = job.in[1];
  columns.mean = job.row_out[0];
  columns.rstd = job.row_out[1];
  return column_sums(columns, dtype);
}

template <RowProgram kProgram>
void norm_backward(const Op&, const Attrs& attrs, Inputs in, Outputs outputs, Stream&) {
  const DType dtype = in[1].dtype();
  RowInputs rows(in.first(2), in.subspan(2, 1), attrs);
  rows.job.out = outputs[0].raw_writable();
  if (!attrs.get<bool>("affine")) return run_rows(kProgram, dtype, rows.job);
  const Tensor sums = sums_over_rows(kProgram, dtype, rows);
  const IntDims& shape = attrs.get<Dims>("normalized_shape");
  for (const std::size_t half : {0, 1}) {
    const Layout layout{shape, contiguous_strides(shape),
                        sums.offset() + static_cast<std::int64_t>(half) * rows.job.size};
    copy(outputs[1 + half], Tensor::alias(sums, layout));
  }
}

}  // namespace

void add_norm_kernels(Column& column) {
  column.add("layer_norm", norm<RowProgram::LayerNorm>);
  column.add("layer_norm_backward", norm_backward<RowProgram::LayerNormBackward>);
  column.add("rms_norm", norm<RowProgram::RmsNorm>);
  column.add("rms_norm_backward", norm_backward<RowProgram::RmsNormBackward>);
}

}  // namespace kiln::cpu
