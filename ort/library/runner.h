// Owns what ONNX Runtime calls for PythonOp and PythonOpGrad: functions with its own signature, which names
// C++ types of the library that both are built with.
#pragma once

#include <cstdint>
#include <vector>

#include "ort/library/python_abi.h"

namespace kiln::ort {

// `arguments` are DLPack capsules where `is_tensor` says so, none where a tensor is absent, and else objects
// of Python. `reuse` has by output, of which the context is the first, the tensor argument whose memory it
// takes, or -1. Gives the context (none outside of training), then a capsule for each result. Throws
// std::runtime_error.
std::vector<PyObject*> run_forward(const char* name, void* callback,
                                   const std::vector<std::int64_t>& requires_grads,
                                   const std::vector<std::int64_t>& is_tensor, bool is_training,
                                   const std::vector<std::int64_t>& reuse, const char* kernel, bool is_safe,
                                   const std::vector<PyObject*>& arguments);

// The first of `arguments` is the context, the others gradients of results. Gives one for each argument of
// forward; here `reuse` counts the context as input 0.
std::vector<PyObject*> run_backward(const char* name, void* callback,
                                    const std::vector<std::int64_t>& requires_grads,
                                    const std::vector<std::int64_t>& is_tensor, bool is_training,
                                    const std::vector<std::int64_t>& reuse, const char* kernel, bool is_safe,
                                    const std::vector<PyObject*>& arguments);

}  // namespace kiln::ort
