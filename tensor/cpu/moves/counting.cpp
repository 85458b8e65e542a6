// Kernels of the rows whose sizes integers among their operands decide: how often, or how many classes.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/elementwise/operands.h"
#include "tensor/ops/create.h"

namespace kiln::cpu {
namespace {

// ---- repeat_interleave -----------------------------------------------------------------------------------

CountedOutputs count_repeats(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor counts = dense(inputs[0], DType::I64);
  const auto* count = counts.data<std::int64_t>();
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < counts.numel(); ++i) {
    if (count[i] < 0)
      throw OpError(ErrorKind::Value, fmt::format("repeat_interleave: count {} is negative", count[i]), {0});
    total += count[i];
  }
  return {{{DType::I64, counts.device(), IntDims{total}}}, {counts}};
}

void repeat_indices(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor& counts = inputs[1];
  const auto* count = counts.data<std::int64_t>();
  auto* out = outputs[0].writable<std::int64_t>();
  for (std::int64_t i = 0; i < counts.numel(); ++i) out = std::fill_n(out, count[i], i);
}

// ---- one_hot ---------------------------------------------------------------------------------------------

CountedOutputs count_classes(const Op&, const Attrs&, Inputs inputs, Stream&) {
  const Tensor index = dense(inputs[0], DType::I64);
  check_some_class(index);
  const auto* values = index.data<std::int64_t>();
  return {{one_hot_type(index, *std::max_element(values, values + index.numel().fixed()))}, {index}};
}

void one_hot(const Op&, const Attrs&, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor index = dense(inputs.back(), DType::I64);
  const Tensor& result = outputs[0];
  const std::int64_t classes = result.sizes().back();
  fill(result, Tensor::number(false));
  const auto* values = index.data<std::int64_t>();
  auto* out = result.writable<std::int64_t>();
  for (std::int64_t i = 0; i < index.numel(); ++i) {
    if (values[i] < 0 || values[i] >= classes) throw wrong_class(values[i], classes);
    out[i * classes + values[i]] = 1;
  }
}

}  // namespace

void add_counting_kernels(Column& column) {
  column.add("repeat_interleave.counts", {.count = count_repeats, .run_counted = repeat_indices});
  column.add("one_hot", {.run = one_hot, .count = count_classes, .run_counted = one_hot});
}

}  // namespace kiln::cpu
