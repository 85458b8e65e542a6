// Blocks of images that are put back together.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// The places in the padded image, flat, of each pair of a place in the block and a block.
std::vector<std::int64_t> block_places(const std::vector<std::int64_t>& padded,
                                       const std::vector<std::int64_t>& block,
                                       const std::vector<std::int64_t>& counts, const Dims& strides,
                                       const Dims& dilations) {
  std::int64_t within = 1, blocks = 1;
  for (std::size_t d = 0; d < block.size(); ++d) {
    within *= block[d];
    blocks *= counts[d];
  }
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < within; ++k) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::int64_t flat = 0, k_left = k, b_left = b, scale = 1;
      for (std::size_t d = block.size(); d-- > 0;) {
        flat +=
            ((k_left % block[d]) * dilations[d].fixed() + (b_left % counts[d]) * strides[d].fixed()) * scale;
        k_left /= block[d];
        b_left /= counts[d];
        scale *= padded[d];
      }
      places.push_back(flat);
    }
  }
  return places;
}

std::vector<std::int64_t> fixed(const Dims& sizes) {
  std::vector<std::int64_t> all;
  for (const Dim each : sizes) all.push_back(each.fixed());
  return all;
}

// [n, channels * block, blocks]: elements of blocks that overlap add up.
Values columns_to_image(Call& call) {
  const Tensor x = call.x(0);
  const std::vector<std::int64_t> image = fixed(call.ints(1)), block = fixed(call.ints(2));
  const std::size_t rank = image.size();
  const Dims strides = call.dims("strides", rank, 1), dilations = call.dims("dilations", rank, 1);
  const Dims pads = call.dims("pads", 2 * rank, 0);
  std::vector<std::int64_t> padded, counts;
  std::int64_t within = 1, places = 1, blocks = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    padded.push_back(image[d] + pads[d].fixed() + pads[rank + d].fixed());
    const std::int64_t room = padded[d] - dilations[d].fixed() * (block[d] - 1) - 1;
    if (room < 0 || strides[d] < 1 || dilations[d] < 1 || block[d] < 1)
      call.refuse("has blocks that do not fit the image");
    counts.push_back(room / strides[d].fixed() + 1);
    within *= block[d];
    blocks *= counts[d];
    places *= padded[d];
  }
  if (x.rank() != 3 || x.size(2) != blocks || x.size(1) % within != 0)
    call.refuse("needs [n, channels * block, blocks], got " + to_string(x.type()));
  const Dim channels = floor_div(x.size(1), within);
  const Tensor flat = ops::reshape(x, Dims{x.size(0) * channels, within * blocks});
  const Tensor index = whole_numbers(block_places(padded, block, counts, strides, dilations));
  const Tensor empty = ops::zeros(Dims{x.size(0) * channels, places}, x.dtype());
  Dims sizes{x.size(0), channels};
  for (const std::int64_t each : padded) sizes.push_back(each);
  Tensor made = ops::reshape(ops::index_add(empty, 1, index, flat), sizes);
  for (std::size_t d = 0; d < rank; ++d) made = ops::narrow(made, static_cast<int>(d) + 2, pads[d], image[d]);
  return {made};
}

constexpr Operator kBlocksOperators[] = {{"Col2Im", columns_to_image}};

}  // namespace

std::span<const Operator> block_operators() { return kBlocksOperators; }

}  // namespace kiln::onnx
