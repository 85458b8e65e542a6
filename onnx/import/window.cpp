#include "onnx/import/window.h"

namespace kiln::onnx {

bool Windows::is_symmetric() const { return same(before, after); }

Windows windows(const Call& call, const Tensor& x, Dims kernel) {
  const std::size_t rank = kernel.size();
  if (x.rank() != static_cast<int>(rank) + 2)
    call.refuse("has windows of " + std::to_string(rank) + " dimensions over " + to_string(x.type()));
  Windows all;
  all.strides = call.dims("strides", rank, 1);
  all.dilations = call.dims("dilations", rank, 1);
  all.kernel = std::move(kernel);
  for (std::size_t d = 0; d < rank; ++d) {
    if (all.strides[d] < 1 || all.dilations[d] < 1 || all.kernel[d] < 1)
      call.refuse("has strides, dilations or windows below 1");
  }
  const std::string automatic = call.word("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) {
    const Dims pads = call.dims("pads", 2 * rank, 0);
    all.before = Dims(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    all.after = Dims(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    return all;
  }
  all.before = all.after = Dims(rank, 0);
  if (automatic == "VALID") return all;
  for (std::size_t d = 0; d < rank; ++d) {
    const Dim size = x.size(static_cast<int>(d) + 2);
    const Dim span = (all.kernel[d] - 1) * all.dilations[d] + 1;
    const Dim total = max((ceil_div(size, all.strides[d]) - 1) * all.strides[d] + span - size, 0);
    const Dim half = floor_div(total, 2);
    all.before[d] = automatic == "SAME_LOWER" ? total - half : half;
    all.after[d] = total - all.before[d];
  }
  return all;
}

Tensor padded(const Tensor& x, const Dims& before, const Dims& after, Attr value) {
  Dims pads;
  bool is_any = false;
  for (std::size_t d = before.size(); d-- > 0;) {
    pads.push_back(before[d]);
    pads.push_back(after[d]);
    is_any = is_any || before[d] != 0 || after[d] != 0;
  }
  if (!is_any) return x;
  return apply("constant_pad", {x}, {{"pad", pads}, {"value", std::move(value)}});
}

Dim window_count(Dim size, const Windows& windows, std::size_t d, bool ceil) {
  const Dim padded_size = size + windows.before[d] + windows.after[d];
  const Dim room = padded_size - (windows.kernel[d] - 1) * windows.dilations[d] - 1;
  if (!ceil) return floor_div(room, windows.strides[d]) + 1;
  const Dim count = ceil_div(room, windows.strides[d]) + 1;
  // A window that begins behind the elements has none of them.
  return (count - 1) * windows.strides[d] >= size + windows.before[d] ? count - 1 : count;
}

}  // namespace kiln::onnx
