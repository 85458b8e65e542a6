// The kernel of constant_pad, and reading what it would give.
#include "tensor/ops/pad.h"

#include <algorithm>

#include "tensor/cpu/backend.h"
#include "tensor/cpu/elementwise/copy.h"
#include "tensor/cpu/moves/gather_reader.h"
#include "tensor/ops/rules.h"

namespace kiln::cpu {
namespace {

void constant_pad(const Op&, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream&) {
  const Tensor &x = inputs[0], &result = outputs[0];
  const IntDims& pads = attrs.get<Dims>("pad");
  const Tensor value = rules::number_attr(attrs.at("value"));
  rules::check_fits(value, x.dtype(), "pad");
  fill(result, value);
  Layout from = x.layout();
  Layout to = result.layout();
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    const auto [before, after] = margin_of(pads, from.sizes.size(), d);
    const std::int64_t length = std::max<std::int64_t>(
        x.sizes()[d] + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0), 0);
    from.sizes[d] = to.sizes[d] = length;
    if (length == 0) return;
    from.offset += std::max<std::int64_t>(-before, 0) * from.strides[d];
    to.offset += std::max<std::int64_t>(before, 0) * to.strides[d];
  }
  copy(Tensor::alias(result, to), Tensor::alias(x, from));
}

// Where each line along the last dimension of the padded tensor begins in `x`; -1 for those beside it.
std::vector<std::int64_t> padded_lines(const Tensor& x, const IntDims& sizes, const IntDims& pads) {
  std::vector<std::int64_t> lines{0};
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) {
    const std::int64_t before = margin_of(pads, sizes.size(), d).before;
    std::vector<std::int64_t> next;
    for (const std::int64_t line : lines) {
      for (std::int64_t i = -before; i < sizes[d] - before; ++i)
        next.push_back(line < 0 || i < 0 || i >= x.sizes()[d] ? -1 : line + i * x.strides()[d]);
    }
    lines = std::move(next);
  }
  return lines;
}

std::unique_ptr<const GatherReader> constant_pad_reader(Inputs inputs, const Attrs& attrs) {
  const IntDims& pads = attrs.get<Dims>("pad");
  const IntDims sizes = padded_sizes(inputs[0].type(), pads);
  const Tensor value = rules::number_attr(attrs.at("value"));
  rules::check_fits(value, inputs[0].dtype(), "pad");
  const Tensor filler = Tensor::empty(IntDims{}, inputs[0].dtype(), inputs[0].device());
  fill(filler, value);
  if (sizes.empty()) return segments_reader({segment_of(inputs[0], 0)}, filler);
  const bool together = inputs[0].strides().back() == 1 || inputs[0].sizes().back() == 1;
  const Tensor x = together ? inputs[0] : contiguous_copy(inputs[0], inputs[0].dtype());
  const auto [before, after] = margin_of(pads, sizes.size(), sizes.size() - 1);
  const std::int64_t length = std::max<std::int64_t>(
      x.sizes().back() + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0), 0);
  Segment inside{length, x, padded_lines(x, sizes, pads)};
  for (std::int64_t& each : inside.offsets) each += each < 0 ? 0 : std::max<std::int64_t>(-before, 0);
  const std::int64_t first = length == 0 ? sizes.back() : std::max<std::int64_t>(before, 0);
  std::vector<Segment> segments{{first}, std::move(inside), {sizes.back() - first - length}};
  return segments_reader(std::move(segments), filler);
}

}  // namespace

void add_pad_kernel(Column& column) {
  column.add("constant_pad", constant_pad);
  column.add_reader("constant_pad", constant_pad_reader);
}

}  // namespace kiln::cpu
