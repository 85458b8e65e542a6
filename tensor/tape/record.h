// Owns the tape's side of `bind`: when an op is recorded, and recording it.
#pragma once

#include "tensor/tape/mode.h"
#include "tensor/tape/node.h"

namespace kiln::tape {

bool any_history(Inputs inputs);

// Does `bind` have to record? Cheap when no input has ever met the tape.
inline bool sees(Inputs inputs) {
  if (!recording) return false;
  for (const Tensor& input : inputs) {
    if (input && (input.impl()->autograd || input.impl()->origin)) return any_history(inputs);
  }
  return false;
}

// As `bind`, for inputs of which one has a history.
Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs);

// Runs the op where the tape does not see it: as a kernel, or one level below the one whose tape this is.
Tensors run_unrecorded(const Op& op, Inputs inputs, const Attrs& attrs);
void run_inplace_unrecorded(const Op& op, Inputs inputs, const Attrs& attrs);

// Links fresh `outputs` to `inputs` as the results of `op`.
void record(const Op& op, Inputs inputs, const Attrs& attrs, Inputs outputs);

// Does `bind_inplace` have to record? Throws OpError (Autograd) when the write is forbidden.
bool sees_write(const Op& op, Inputs inputs);

// As `bind_inplace`, recorded. The caller has checked shapes, dtypes and overlap; `result` is the type that
// the op computes, before it is cast to that of the target.
Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result);

// The `_` form of a row with kStorageWrite: x gets the storage and layout of `source`. Throws OpError (DType,
// Autograd, Value) where it may not.
Tensor take_storage(const Tensor& x, const Tensor& source);
void check_storage_write(std::string_view name, const Tensor& x);

// As `bind_inplace` for rows with kMetadataWrite: inputs[0] becomes its own view by `op`. Recorded or not.
Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs);

}  // namespace kiln::tape
