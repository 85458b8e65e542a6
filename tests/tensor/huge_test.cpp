// Tensors of more than 2^31 elements: some gigabytes and seconds, so only when asked for: test_tensor
// "[huge]".
#include <catch2/catch.hpp>

#include "tests/tensor/tensors.h"

namespace kiln::huge_test {

using namespace kiln::testing;

namespace {

constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 24;  // neither a multiple of a block nor of a vector

}  // namespace

TEST_CASE("places beyond 2^31 are counted right", "[.][huge]") {
  const Tensor x = ops::zeros(Dims{kMany}, DType::U8);
  const Dim wanted[] = {0, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, kMany - 1};
  for (const std::int64_t place : wanted)
    ops::fill_(ops::select(x, 0, place), Tensor::number(std::int64_t{7}));

  CHECK(ops::sum(x).item_int() == 28);
  CHECK(call("argmax", {ops::slice(x, 0, 1, kMany)})[0].item_int() == wanted[1] - 1);
  const Tensor places = ops::nonzero(x);
  REQUIRE(places.size(0) == 4);
  for (std::int64_t i = 0; i < 4; ++i) CHECK(element(places, i) == static_cast<long double>(wanted[i]));
  CHECK(ops::index_select(x, 0, ops::reshape(places, Dims{4})).numel() == 4);
  CHECK(ops::sum(ops::index_select(x, 0, ops::reshape(places, Dims{4}))).item_int() == 28);

  // Elementwise, into as many new elements and in place.
  const Tensor more = ops::add(x, Tensor::number(std::int64_t{1}));
  CHECK(ops::sum(more).item_int() == kMany + 28);
  ops::add_(x, more);
  CHECK(element(ops::select(x, 0, kMany - 1), 0) == 15);
  CHECK(ops::sum(x).item_int() == kMany + 56);
}

TEST_CASE("views of more than 2^31 elements cost no memory", "[.][huge]") {
  const Tensor row = make({3}, DType::Bool, [](std::int64_t i) { return i == 1 ? 1.0 : 0.0; });
  const Tensor wide = ops::expand(row, Dims{kMany / 3 + 1, 3});
  CHECK(wide.numel() > std::int64_t{1} << 31);
  CHECK(ops::sum(wide).item_int() == kMany / 3 + 1);
  CHECK(element(ops::select(ops::select(wide, 0, kMany / 3), 0, 1), 0) == 1);
  CHECK_FALSE(ops::all(wide).item_bool());
}

}  // namespace kiln::huge_test
