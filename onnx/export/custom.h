// Owns how functions with derivatives of their own are written: as a local function, or in place.
#pragma once

#include "jit/graph/custom.h"
#include "onnx/export/model_writer.h"

namespace kiln::onnx {

// Writes an application of such a function, in the form that the model's options ask for, and gives its
// results. Throws OpError (Capture) where only the interpreter has its body.
OnnxValues write_custom(Scope& scope, const jit::CustomFunction& function, const jit::Graph& graph,
                        const jit::Node& node, const OnnxValues& operands);

}  // namespace kiln::onnx
