// Owns what the hooks of a function say of its nodes, and whether that is so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/graph/custom.h"

namespace kiln::onnx {

std::size_t result_count(const jit::ProgramCall& call);  // of tensors

// By output of PythonOp, and of PythonOpGrad: the input whose memory it takes, or -1. Contexts count.
struct ReuseMaps {
  std::vector<std::int64_t> forward, backward;
};
// `convention` tells tensors among the arguments. Throws OpError (Value) for a map that does not fit.
ReuseMaps reuse_maps(const jit::ProgramCall& call, const std::string& convention);

// Throws OpError (Shape) where the program's rule of shapes contradicts what the function gave.
void check_shapes(const jit::CustomFunction& function);

}  // namespace kiln::onnx
