// Owns the list of the ONNX rules that rows name: functions that write nodes, and bodies over smaller ops.
#pragma once

#include "tensor/onnx/nodes.h"

namespace kiln::onnx_rules {

// ---- tensor/onnx/elementwise.cpp: nodes ----
OnnxValues rounding(const OnnxApplication& app);  // floor, ceil, round, trunc; integers stay as they are
OnnxValues gelu(const OnnxApplication& app);
OnnxValues bitwise_not(const OnnxApplication& app);
OnnxValues floor_div(const OnnxApplication& app);
OnnxValues trunc_div(const OnnxApplication& app);
OnnxValues remainder(const OnnxApplication& app);
OnnxValues clamp(const OnnxApplication& app);
OnnxValues first_operand(const OnnxApplication& app);   // as large as the result
OnnxValues second_operand(const OnnxApplication& app);  // likewise

// ---- tensor/onnx/elementwise_bodies.cpp ----
Tensors lgamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors digamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors polygamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors logit(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors nan_to_num(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors div_rounded(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors atan2(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors hypot(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors copysign(const Op& op, Inputs inputs, const Attrs& attrs);

}  // namespace kiln::onnx_rules
