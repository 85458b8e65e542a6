// Algorithms of cublasLt's are asked for once for all that decides them, in whichever process.
#include <catch2/catch.hpp>

#include "tests/cuda/cache_folder.h"
#include "tests/cuda/child.h"
#include "tests/tensor/tensors.h"

using namespace kiln;
using namespace kiln::testing;

namespace {

// The sum of what products give in a process that keeps choices in the folder, some alike and some not.
// `asks`: cublasLt may be asked so often, and the next time gives an error.
std::string multiplied(const CacheFolder& folder, int asks, std::int64_t columns = 5) {
  const std::string failing = "cublasLtMatmulAlgoGetHeuristic:" + std::to_string(asks + 1) + ":14";
  return in_child(fakes({{"KILN_FAKE_FAIL", failing}}), [&]() -> std::string {
    folder.use();
    const auto on_card = [](const Dims& sizes, DType dtype) {
      return ops::to(noise(sizes, dtype, 1), parse_device("cuda"));
    };
    try {
      Tensor sum = ops::to(ops::zeros({}, DType::F64), parse_device("cuda"));
      for (const DType dtype : {DType::F32, DType::F32, DType::F16}) {
        const Tensor x = on_card(Dims{4, 8}, dtype), y = on_card(Dims{8, columns}, dtype);
        sum = ops::add(sum, ops::to(ops::sum(ops::matmul(x, y)), DType::F64));
        sum = ops::add(
            sum, ops::to(ops::sum(ops::matmul(x, ops::transpose(on_card(Dims{columns, 8}, dtype), 0, 1))),
                         DType::F64));
      }
      return describe(ops::to(sum, Device{}));
    } catch (const OpError& error) {
      return error.what();
    }
  });
}

}  // namespace

TEST_CASE("choices of algorithms are kept for other processes, and damaged ones are made anew", "[cuda]") {
  const CacheFolder folder;
  CHECK(multiplied(folder, 3).find("cublasLtMatmulAlgoGetHeuristic gave") != std::string::npos);
  // Two dtypes, each with the second matrix by rows and by columns: one is left to ask for.
  const std::string right = multiplied(folder, 1);
  CHECK(right.find("f64") != std::string::npos);
  CHECK(multiplied(folder, 0) == right);
  CHECK(multiplied(folder, 0, 6) != right);  // another product is another choice
  for (const double place : {0.5, 0.999}) {
    folder.damage(place);
    CHECK(multiplied(folder, 3) != right);
    CHECK(multiplied(folder, 1) == right);
    CHECK(multiplied(folder, 0) == right);
  }
}
