// Owns running elementwise kernels over tensors of any layout and dtype: converts, broadcasts, splits over
// threads.
#pragma once

#include <span>

#include "tensor/compute.h"
#include "tensor/cpu/kernels.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// How a kernel reads an operand.
struct Operand {
  const Tensor* tensor = nullptr;  // null: `absent` everywhere
  bool as_bool = false;            // one byte each, not in the type of the arithmetic; the tensor is bool
  double absent = 0;
};

struct ElementwiseJob {
  const OpKernels& kernels;
  Compute compute;
  bool predicate = false;  // the kernel gives bytes 0 or 1
  bool costly = false;     // some ten times the work of an addition: worth splitting sooner
  const Params* params = nullptr;
};

// Runs the kernel on operands broadcast to the sizes of `output`, and casts its results to the dtype of
// `output`. `output` may share elements with operands only where both have the same layout. Not 0: the op is
// not defined for some element. Throws OpError (Interrupted).
unsigned run_elementwise(const ElementwiseJob& job, std::span<const Operand> operands, const Tensor& output);

std::size_t size_of(Compute compute);
DType element_of(Compute compute);

}  // namespace kiln::cpu
