#include "tests/tensor/collective_calls.h"

#include "tensor/autograd.h"
#include "tests/tensor/sample_parts.h"

namespace kiln::testing {
namespace {

// Ranks with other elements, and with other numbers of rows where the row may have that.
std::vector<Tensor> by_rank(int ranks, bool uneven) {
  std::vector<Tensor> x;
  for (int rank = 0; rank < ranks; ++rank) x.push_back(real({uneven ? 1 + rank : 3, 2}, 10 + rank));
  return x;
}

std::vector<std::vector<NamedAttr>> rows_by_rank(int ranks) {
  std::vector<std::vector<NamedAttr>> attrs;
  for (int rank = 0; rank < ranks; ++rank)
    attrs.push_back(
        {{"rows", std::int64_t{rank == 0 ? 4 - ranks : 1}}, {"prescale", 0.5}, {"postscale", 3.0}});
  return attrs;
}

}  // namespace

Attrs CollectiveCall::attrs_of_rank(int rank) const {
  return attrs_of(row(), attrs.size() == 1 ? attrs[0] : attrs[static_cast<std::size_t>(rank)]);
}

Tensor CollectiveCall::run(int rank, const Tensor& own) const {
  std::vector<Tensor> inputs{own};
  if (row().signature.inputs == 2) inputs.emplace_back();  // no splits
  return kiln::bind(row(), inputs, attrs_of_rank(rank))[0];
}

Tensor CollectiveCall::gradient(int rank) const {
  const Tensor own = ops::clone(x[static_cast<std::size_t>(rank)]);
  set_requires_grad(own, true);
  const Tensor y = run(rank, own);
  return grads({ops::sum(y * weights_of(y, rank))}, {own}, {}, false, false, true)[0];
}

Tensor weights_of(const Tensor& result, int rank) { return noise(result.sizes(), DType::F64, 50 + rank); }

std::vector<CollectiveCall> collective_calls(int ranks) {
  const std::vector<Tensor> even = by_rank(ranks, false), uneven = by_rank(ranks, true);
  const std::int64_t total = ranks * (ranks + 1) / 2;
  std::vector<Tensor> pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back(real({2 * ranks, 2}, 20 + rank));
  return {{"allreduce", even, {{}}},
          {"allreduce", even, {{{"op", text("sum")}, {"prescale", 0.5}, {"postscale", -3.0}}}},
          {"allreduce", even, {{{"op", text("min")}, {"prescale", -2.0}}}},
          {"allreduce", even, {{{"op", text("max")}, {"postscale", 0.5}}}},
          {"allgather", uneven, {{}}},
          {"allgather", uneven, {{{"total", total}}}},
          {"broadcast_from", even, {{{"root", 1_i}}}},
          {"reduce_to", even, {{{"root", 1_i}}}},
          {"reducescatter", even, rows_by_rank(ranks)},
          {"alltoall", pieces, {{}}}};
}

}  // namespace kiln::testing
