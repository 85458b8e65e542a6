// Sparse gradients as programs see them: made of rows, and taken apart again.
#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

Value is_sparse(Interpreter&, Args a) { return sparse::is_sparse(a[0].as_tensor()); }

kiln::Tensor sparse_self(Args a, std::string_view method) {
  kiln::Tensor x = a[0].as_tensor();
  if (!sparse::is_sparse(x)) {
    raise("TypeError",
          fmt::format("{}: only a sparse gradient has rows of its own, this is {}", method,
                      to_string(x.type())),
          "`x.is_sparse` tells them apart; `embedding(…, sparse=true)` makes gradients sparse");
  }
  return x;
}

// Another tensor, so that no write to it changes which rows there are.
Value indices(Interpreter&, Args a) {
  return Value(kiln::tape::share_value(sparse::indices(sparse_self(a, "indices"))));
}
Value values(Interpreter&, Args a) { return Value(sparse::values(sparse_self(a, "values"))); }
Value to_dense(Interpreter&, Args a) {
  kiln::Tensor x = a[0].as_tensor();
  return Value(sparse::is_sparse(x) ? sparse::to_dense(x) : x);
}

void check_indices(const kiln::Tensor& index, std::int64_t count) {
  const kiln::Tensor whole = kiln::ops::to(index, kiln::DType::I64);
  const kiln::HostView elements(whole);
  const auto* at = elements.as<std::int64_t>();
  const std::int64_t step = whole.strides()[0].fixed();
  for (std::int64_t i = 0; i < whole.numel().fixed(); ++i) {
    const std::int64_t row = at[i * step];
    if (row < 0 || row >= count)
      raise("IndexError", fmt::format("sparse_rows: index {} is none of {} rows", row, count));
  }
}

Value sparse_rows(Interpreter&, Args a) {
  const kiln::Tensor index = tensor_argument(a[0], "indices");
  const kiln::Tensor rows = tensor_argument(a[1], "values");
  const std::int64_t count = int_argument(a[2], "count");
  if (!kiln::is_integer(index.dtype()) || index.rank() != 1) {
    raise("TypeError", fmt::format("sparse_rows: `indices` must be a vector of integers, it is {}",
                                   to_string(index.type())));
  }
  if (rows.rank() != 2 || rows.size(0) != index.size(0) || !kiln::is_float(rows.dtype())) {
    raise(
        "ShapeError",
        fmt::format(
            "sparse_rows: `values` must have a row of floats for each index, of which there are {}, it is {}",
            index.size(0).fixed(), to_string(rows.type())));
  }
  if (count < 0) raise("ValueError", fmt::format("sparse_rows: `count` is a number of rows, not {}", count));
  check_indices(index, count);
  return Value(sparse::from_rows(index, kiln::ops::detach(rows), kiln::Dims{count, rows.size(1)}));
}

constexpr NativeDef kSparseGradientsMethods[] = {
    {"is_sparse", "Whether it is a sparse gradient, of which some rows alone are in memory.", is_sparse},
    {"indices(self)", "Of a sparse gradient: the numbers of its rows, ascending.", indices},
    {"values(self)", "Of a sparse gradient: its rows. Writes to them change the gradient.", values},
    {"to_dense(self)", "The whole matrix of a sparse gradient; of other tensors the tensor itself.",
     to_dense},
};

constexpr NativeDef kFunctions[] = {
    {"sparse_rows(indices, values, count)",
     "A sparse gradient of a matrix of `count` rows: those that `indices` names are the rows of `values`, "
     "the "
     "others are zero. Rows that are named more than once are summed.\n"
     ">>> sparse_rows(tensor([2, 0, 2]), tensor([[1.0], [2.0], [3.0]]), 4).to_dense().tolist()\n"
     "[[2.0], [0.0], [4.0], [0.0]]",
     sparse_rows},
};

}  // namespace

std::span<const NativeDef> sparse_gradient_methods() { return kSparseGradientsMethods; }
std::span<const NativeDef> sparse_gradient_natives() { return kFunctions; }

}  // namespace kiln::interp
