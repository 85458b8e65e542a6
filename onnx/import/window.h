// Owns the windows of convolutions and pools: their attributes, as numbers for each spatial dimension.
#pragma once

#include "onnx/import/call.h"

namespace kiln::onnx {

struct Windows {
  Dims kernel, strides, dilations;
  Dims before, after;  // padding
  std::size_t rank() const { return kernel.size(); }
  bool is_symmetric() const;
};
// Of a tensor [n, channels, spatial…]; `auto_pad` becomes numbers.
Windows windows(const Call& call, const Tensor& x, Dims kernel);
// Padded along the spatial dimensions.
Tensor padded(const Tensor& x, const Dims& before, const Dims& after, Attr value);
// How many windows there are along a spatial dimension; with `ceil` also one that is cut off.
Dim window_count(Dim size, const Windows& windows, std::size_t d, bool ceil);

}  // namespace kiln::onnx
