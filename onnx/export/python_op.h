// Owns the nodes that stand for functions with derivatives of their own in ONNX Runtime's training build:
// com.microsoft's PythonOp and PythonOpGrad, whose attributes are all that the runtime knows of the function.
#pragma once

#include <vector>

#include "jit/graph/custom.h"
#include "onnx/export/model_writer.h"

namespace kiln::onnx {

inline constexpr std::string_view kPythonOpDomain = "com.microsoft";
inline constexpr const char* kShapeConstants = "__kiln_constants";

// How an application runs.
struct PythonOpUse {
  bool is_training = false;  // a context is kept for backward
  std::vector<bool> needs;   // by tensor argument: its gradient is wanted
  std::string comment;
};

// The node without names. Beside the runtime's attributes it has Kiln's own, whose names begin with two
// underscores, so that the runtime passes them over: doubles in full (`__kiln_float_scalars` and
// `__kiln_float_tuples`, f64[n]), what stands for the pointers (`__kiln_pointers`, by
// onnx/export/constant_text.h), the names of all arguments (`__kiln_arguments`), and, of a function with
// `infer_shape`, the constants again by argument, as such texts (`__kiln_constants`). The pointers themselves
// are 0: they are of no use outside of the process that writes them. Throws OpError (Value) that names the
// argument which no attribute can hold, and OpError (Capture) for a function that was read from text.
NodeProto python_op(const jit::CustomFunction& function, const PythonOpUse& use);
NodeProto python_op_grad(const jit::CustomFunction& function, const PythonOpUse& use);

// Writes an application, or the backward body of one (jit/graph/custom.h: `KeptBackward`). Throws
// what `python_op` throws.
OnnxValues write_python_op(Scope& scope, const jit::CustomFunction& function, const jit::Graph& graph,
                           const jit::Node& node, const OnnxValues& operands);

}  // namespace kiln::onnx
