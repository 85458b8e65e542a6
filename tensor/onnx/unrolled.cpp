#include "tensor/onnx/unrolled.h"

#include <fmt/format.h>

namespace kiln::onnx_rules {
namespace {

Tensor joined(Inputs parts, int dim) {
  Tensors some;
  for (const Tensor& part : parts) {
    if (part.size(dim) != 0) some.push_back(part);
  }
  return some.size() == 1 ? some[0] : ops::cat(some, dim);
}

}  // namespace

std::int64_t unrolled_size(const Op& op, const Tensor& x, int back) {
  const std::int64_t size = x.size(x.rank() - 1 - back).fixed();
  if (size >= 1 && size <= kMostUnrolled) return size;
  throw OpError(
      ErrorKind::Value,
      fmt::format("{}: a model has it unrolled over the sizes of its matrices, which must be 1 to {}, not {}",
                  op.name(), kMostUnrolled, size));
}

Tensor some_rows(const Tensor& x, std::int64_t start, std::int64_t count) {
  return ops::narrow(x, x.rank() - 2, start, count);
}
Tensor some_columns(const Tensor& x, std::int64_t start, std::int64_t count) {
  return ops::narrow(x, x.rank() - 1, start, count);
}
Tensor below(Inputs parts) { return joined(parts, parts[0].rank() - 2); }
Tensor beside(Inputs parts) { return joined(parts, parts[0].rank() - 1); }

Tensor zero_block(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  Dims sizes = linalg::batch_sizes(x.sizes());
  sizes.push_back(rows);
  sizes.push_back(columns);
  return ops::zeros(sizes, x.dtype(), x.device());
}

Tensor trailing(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  const Tensor lower = some_rows(x, rows, linalg::rows_of(x).fixed() - rows);
  return some_columns(lower, columns, linalg::columns_of(x).fixed() - columns);
}

}  // namespace kiln::onnx_rules
