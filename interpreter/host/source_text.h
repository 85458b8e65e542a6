// Owns numbers, attributes, tensors and applications of ops as source of the language.
#pragma once

#include <span>
#include <string>

#include "interpreter/values/objects.h"
#include "jit/graph/graph.h"

namespace kiln::interp::host {

std::string number_source(const jit::Number& number);
// All elements, to the bit but for what nans carry.
std::string tensor_source(const Tensor& x);
// `"cuda:1"` behind `separator`, where new tensors are elsewhere; empty where they are there.
std::string device_source(Device device, const std::string& separator);

// The call of an op on operands that are texts already, empty where one is left out: by an operator of the
// language, or by name. `writes`: by the form that writes its first operand. `prelude` has the functions of
// all modules; where another function has the name of the op, the call is that of a method.
std::string application_source(const jit::Graph& graph, const jit::Node& node,
                               std::span<const std::string> operands, bool writes, const Module& prelude);

}  // namespace kiln::interp::host
