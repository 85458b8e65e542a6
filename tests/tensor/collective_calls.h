// Owns calls of each row of collectives, with what each rank gives: what values and derivatives are tried on.
#pragma once

#include <functional>
#include <vector>

#include "tests/tensor/tensors.h"

namespace kiln::testing {

// A row, and for each rank what it is applied to.
struct CollectiveCall {
  const char* op;
  std::vector<Tensor> x;                      // by rank
  std::vector<std::vector<NamedAttr>> attrs;  // by rank; one: of all

  const Op& row() const { return OpTable::get().at(op); }
  Attrs attrs_of_rank(int rank) const;
  // The first result on this rank.
  Tensor run(int rank, const Tensor& own) const;
  Tensor run(int rank) const { return run(rank, x[static_cast<std::size_t>(rank)]); }
  // Of the results of all ranks with their weights, by what this rank gives.
  Tensor gradient(int rank) const;
};
// With which the result of a rank counts.
Tensor weights_of(const Tensor& result, int rank);

// All rows that have derivatives, for 2 or 3 ranks.
std::vector<CollectiveCall> collective_calls(int ranks);

}  // namespace kiln::testing
