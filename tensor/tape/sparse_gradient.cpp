#include "tensor/tape/sparse_gradient.h"

#include "tensor/functions.h"
#include "tensor/levels/wrapper.h"
#include "tensor/ops/unique.h"
#include "tensor/tape/meta.h"

namespace kiln::sparse {
namespace {

// No level has this number.
constexpr LevelId kNoLevel = 0;

Tensor make(Tensor index, Tensor rows, std::span<const Dim> sizes) {
  Tensor made = Tensor::without_elements(sizes, rows.dtype(), rows.device());
  made.impl()->wrapper.reset(
      new Wrapper{kNoLevel, LevelKind::Rows, false, std::move(rows), std::move(index), nullptr});
  return made;
}

constexpr std::string_view kHelp =
    "x.to_dense() is the whole matrix; x.indices() and x.values() are its rows";

}  // namespace

bool is_sparse(const Tensor& x) {
  const Wrapper* wrapper = levels::wrapper_of(x);
  return wrapper != nullptr && wrapper->kind == LevelKind::Rows;
}

const Tensor& values(const Tensor& x) { return levels::wrapper_of(x)->value; }
const Tensor& indices(const Tensor& x) { return levels::wrapper_of(x)->tangent; }

Tensor from_rows(const Tensor& index, const Tensor& rows, std::span<const Dim> sizes) {
  const Tensors found = unique_with_places(ops::to(index, DType::I64));
  const Tensor zeros = ops::zeros(Dims{found[0].size(0), sizes[1]}, rows.dtype(), rows.device());
  return make(found[0], ops::index_add(zeros, 0, found[1], rows), sizes);
}

Tensor to_dense(const Tensor& x) {
  const Tensor zeros = ops::zeros(x.sizes(), x.dtype(), x.device());
  return ops::index_add(zeros, 0, indices(x), values(x));
}

Tensor add(const Tensor& a, const Tensor& b) {
  if (!is_sparse(a)) return a + to_dense(b);
  if (!is_sparse(b)) return to_dense(a) + b;
  return from_rows(ops::cat(Tensors{indices(a), indices(b)}), ops::cat(Tensors{values(a), values(b)}),
                   a.sizes());
}

Tensor share(const Tensor& x) { return make(indices(x), tape::share_value(values(x)), x.sizes()); }

std::string describe(const Tensor& x) {
  const std::int64_t count = values(x).size(0).hint();
  return "a sparse gradient " + to_string(x.type()) + " of " + std::to_string(count) +
         (count == 1 ? " row" : " rows");
}

void refuse(const Op& op, Inputs inputs, int operand) {
  throw OpError(ErrorKind::Type,
                spoken_name(op) + ": this is " + describe(inputs[static_cast<std::size_t>(operand)]) +
                    ", which is no operand of ops",
                {operand}, std::string(kHelp));
}

void refuse_reading(const Tensor& x) {
  throw OpError(ErrorKind::Type, "this is " + describe(x) + ", whose other elements are not in memory", {},
                std::string(kHelp));
}

}  // namespace kiln::sparse
