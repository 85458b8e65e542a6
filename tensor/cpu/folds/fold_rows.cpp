// Kernels of the plain reductions: one combination of all elements along some dimensions, in the fixed order.
#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln::cpu {
namespace {

// Folds over the dimensions that the attributes name, and converts what comes of it.
void fold_to(const Tensor& output, const Tensor& x, const Attrs& attrs, Combine combine,
             Map map = Map::Identity) {
  const Tensor result = computed_in(output, fold_result(x.dtype(), combine, map));
  fold_into(result, x, ops::reduced_dims(attrs, x.rank()), combine, map);
  finish(output, result);
}

Tensor converted(const Tensor& x, DType result) { return cast(x, combined_dtype(x.dtype(), result)); }

// Rows that lower to a reduction: the combination is the row's.
void combined(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  fold_to(outputs[0], converted(inputs[0], outputs[0].dtype()), attrs,
          op.lowering.as<lowering::Reduce>()->combine);
}

void mean(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& output = outputs[0];
  const Tensor x = converted(inputs[0], output.dtype());
  const IntDims dims = ops::reduced_dims(attrs, x.rank());
  const std::int64_t count = ops::reduced_count(x.sizes(), dims);
  const Tensor totals = computed_in(output, fold_result(x.dtype(), Combine::Sum, Map::Identity));
  fold_into(totals, x, dims, Combine::Sum);
  update(totals, [&]<class T>(T total) { return total / static_cast<T>(count); });
  finish(output, totals);
}

// The identities of Max and Min of truth values, what an empty sequence gives, are false and true. Bytes that
// are 0 or 1 are what u8 has, too.
template <Combine kCombine>
void truth(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& output = outputs[0];
  fold_to(Tensor::from_storage(output.storage(), output.layout(), DType::Bool), inputs[0], attrs, kCombine,
          Map::Truth);
}

void count_nonzero(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  fold_to(outputs[0], inputs[0], attrs, Combine::Sum, Map::NonZero);
}

}  // namespace

void add_fold_kernels(Column& column) {
  for (const Op* const op : OpTable::get().ops()) {
    if (op->lowering.as<lowering::Reduce>() != nullptr) column.add(*op, {.run = combined});
  }
  column.add("mean", mean);
  column.add("any", truth<Combine::Max>);
  column.add("all", truth<Combine::Min>);
  column.add("count_nonzero", count_nonzero);
}

}  // namespace kiln::cpu
