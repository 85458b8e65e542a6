#include "tensor/random.h"

#include "tensor/philox.h"

namespace kiln {

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const PhiloxBlock block =
      philox_block({low(index), high(index), low(offset), high(offset)}, low(seed), high(seed));
  return {block.x0, block.x1, block.x2, block.x3};
}

Generator& generator() {
  static Generator instance;
  return instance;
}

void seed(std::uint64_t value) { generator() = {value, 0}; }

Generator next_draw() {
  const Generator draw = generator();
  ++generator().offset;
  return draw;
}

}  // namespace kiln
