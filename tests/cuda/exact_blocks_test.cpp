// Blocks of cards that have just the bytes of a tensor, for tools that look for accesses beyond their end.
#include <catch2/catch.hpp>

#include "tensor/cuda/devices.h"
#include "tensor/functions.h"
#include "tests/cuda/child.h"

namespace kiln::exact_blocks_test {

using namespace kiln::testing;

namespace {

// What the driver gives where as many bytes are filled of a tensor with 100.
std::string filled(const Variables& variables, std::size_t bytes) {
  return in_child(fakes(variables), [&] {
    const Tensor x = ops::zeros(Dims{100}, DType::U8, parse_device("cuda"));
    const auto address = reinterpret_cast<cuda::Address>(x.raw());
    return std::to_string(cuda::driver().api.cuMemsetD8Async(address, 1, bytes, nullptr));
  });
}

}  // namespace

TEST_CASE("a block of a card is as large as a tensor where that is set", "[cuda]") {
  CHECK(filled({{"KILN_CUDA_EXACT", "0"}}, 101) == "0");
  CHECK(filled({{"KILN_CUDA_EXACT", "1"}}, 100) == "0");
  CHECK(filled({{"KILN_CUDA_EXACT", "1"}}, 101) == "1");
}

}  // namespace kiln::exact_blocks_test
