// Owns elements of a model that are in a file beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onnx/proto/model.h"

namespace kiln::onnx {

// Readers of protobuf take no message of more bytes.
inline constexpr std::size_t kMostModelBytes = 0x7fffffff;

// Do the elements of the model's tensors leave room for all else within so many bytes?
bool fits_in_one_file(const ModelProto& model, std::size_t most_bytes = kMostModelBytes);

// Elements that were taken out of a model, and where in the file they are.
struct ExternalElements {
  std::size_t offset = 0;  // in bytes, a multiple of the size of a page, so that a runtime can map them
  std::string bytes;
};
// Takes the elements of large initializers out of the model, which then says that they are in the file
// `location` of its folder.
std::vector<ExternalElements> take_elements(ModelProto& model, const std::string& location);

}  // namespace kiln::onnx
