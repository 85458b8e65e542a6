// Views of bytes as elements of another dtype.
#include <catch2/catch.hpp>

#include "tests/tensor/tensors.h"

namespace kiln::view_dtype_test {

using namespace kiln::testing;

TEST_CASE("bytes are viewed as elements of another dtype", "[view]") {
  const Tensor x = noise({3, 4}, DType::F32, 31);
  const auto read_as = [](const Tensor& of, DType dtype) {
    return call("view.dtype", {of}, {{"dtype", dtype}})[0];
  };
  const Tensor bits = read_as(x, DType::I32);
  CHECK(bits.type() == TensorType{DType::I32, Device{}, Dims{3, 4}});
  CHECK(shares_storage(bits, x));
  CHECK(same_bits(read_as(bits, DType::F32), x));
  const Tensor bytes = read_as(ops::slice(x, 0, 1, 3), DType::U8);
  CHECK(bytes.sizes() == Dims{2, 16});
  CHECK(same_bits(read_as(bytes, DType::F32), ops::slice(x, 0, 1, 3)));
  const Tensor pairs = read_as(x, DType::C64);
  CHECK(pairs.sizes() == Dims{3, 2});
  CHECK(element(ops::real(pairs), 5) == element(x, 10));
  CHECK(element(ops::imag(pairs), 5) == element(x, 11));
  ops::fill_(ops::select(bits, 0, 0), Tensor::number(std::int64_t{0}));
  CHECK(element(x, 3) == 0);
  CHECK_THROWS_AS(read_as(ops::slice(x, 1, 0, 3), DType::F64), OpError);
  CHECK_THROWS_AS(read_as(ops::slice(x, 1, 1, 3), DType::F64), OpError);
  CHECK_THROWS_AS(read_as(ops::transpose(x, 0, 1), DType::U8), OpError);
  CHECK_THROWS_AS(read_as(x, DType::Bool), OpError);
}

}  // namespace kiln::view_dtype_test
