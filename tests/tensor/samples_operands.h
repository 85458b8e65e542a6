// Owns what the tensor arguments of samples are not meant to be: a number, one element, other sizes, another
// dtype.
#pragma once

#include "tests/tensor/samples.h"

namespace kiln::testing {

struct Operands {
  const Op& op;
  const Attrs& attrs;
  const std::vector<Tensor>& meant;
  std::size_t changed;         // which argument
  std::vector<Tensor> inputs;  // with another one in its place
  std::string described() const;
};
using EachOperands = std::function<void(const Operands&)>;

// Calls `f` for every tensor argument of every sample of every op. Random ops and those that leave memory as
// it was are left out.
void each_with_number(const EachOperands& f);
void each_with_other_sizes(const EachOperands& f);
void each_with_other_dtype(const EachOperands& f);

// The first element of x as a tensor of no dimensions; of these sizes, the elements of x over and over.
Tensor first_of(const Tensor& x);
Tensor with_sizes(const Tensor& x, const Dims& sizes);
// The elements of x in another dtype.
Tensor in_dtype(const Tensor& x, DType dtype);

}  // namespace kiln::testing
