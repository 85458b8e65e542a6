// Owns how the images of a batch are shared out when a gradient of a convolution's weight is summed.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/convolution/convolution.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// Blocks of images, by the sizes alone. Each has a gradient to keep: fewer of those that are large.
struct ImageBlocks {
  std::int64_t count, length;  // blocks; images in each but the last

  explicit ImageBlocks(const ConvShape& shape) {
    const std::int64_t most = shape.weights() > (1 << 18) ? 4 : 16;
    length = ceil_divide(shape.batch, most);
    count = ceil_divide(shape.batch, length);
  }
};

// Sums wrap for integers.
template <class T>
T add_wrapped(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

// total = the sum of `count` gradients of `size` elements that lie one after another, in their order.
template <class T>
void add_blocks(const T* sums, std::int64_t count, std::int64_t size, T* total) {
  parallel_for(size, 1 << 14, [=](std::int64_t begin, std::int64_t end) {
    std::copy(sums + begin, sums + end, total + begin);
    for (std::int64_t block = 1; block < count; ++block) {
      const T* sum = sums + block * size;
      for (std::int64_t e = begin; e < end; ++e) total[e] = add_wrapped(total[e], sum[e]);
    }
  });
}

}  // namespace kiln::cpu
