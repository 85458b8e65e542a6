// Owns the tensors of a model: from records to Kiln's, with elements in files beside the model.
#pragma once

#include <filesystem>
#include <string>

#include "onnx/proto/model.h"
#include "tensor/tensor.h"

namespace kiln::onnx {

// Where elements lie that are not in the model: files in the folder of the model.
struct ExternalData {
  std::filesystem::path folder;  // empty: there is none, as of a model that is no file
};

// Throws OpError: (DType) for elements that Kiln has no type for, (Value) where their number is not that of
// the sizes, (IO) where a file is missing, too short or outside of the folder.
Tensor to_tensor(const TensorProto& proto, const ExternalData& external);

}  // namespace kiln::onnx
