// Owns the CUDA kernels that apply the body of each elementwise row: one for each dtype that the row computes
// in, and a second one of a row with a guard, which takes the short form of the body wherever the guard
// holds.
#pragma once

#include <string>
#include <vector>

#include "tensor/op.h"
#include "tensor/pointwise_params.h"

namespace kiln::testing {

struct BodyKernel {
  std::string name;  // of the kernel, made of the row's, the dtype and the form
  std::string row;   // as scalar::row is written
  const Op* op;
  DType dtype;  // of operands that are no masks
  DType result;
  bool is_guarded;           // the short form where the guard holds
  std::vector<Attrs> attrs;  // those that go with the dtype
};

// All of them, by dtype.
std::vector<BodyKernel> body_kernels();

// The text of one kernel: (operands…, result, a byte for each element that says whether it is bad, count,
// Params).
std::string text_of(const BodyKernel& kernel);
// A program of several.
std::string program_of(const std::vector<BodyKernel>& kernels);

}  // namespace kiln::testing
