// Algorithms of cublasLt's are asked for once for all that decides them, in whichever process.
#include <catch2/catch.hpp>

#include "tests/cuda/cache_folder.h"
#include "tests/cuda/child.h"
#include "tests/tensor/tensors.h"

namespace kiln::product_choices_test {

using namespace kiln::testing;

namespace {

// The sum of what products give in a process that keeps choices in the folder, some alike and some not.
// `asks`: cublasLt may be asked so often, and the next time gives an error.
std::string multiplied(const CacheFolder& folder, int asks, Variables more = {}, std::int64_t columns = 5) {
  const std::string failing = "cublasLtMatmulAlgoGetHeuristic:" + std::to_string(asks + 1) + ":14";
  more.emplace_back("KILN_FAKE_FAIL", failing);
  return in_child(fakes(more), [&]() -> std::string {
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
  // Other sizes, another version of the library and another card are other choices.
  CHECK(multiplied(folder, 0, {}, 6) != right);
  for (const auto& [name, value] :
       Variables{{"KILN_FAKE_CUBLASLT_VERSION", "130100"}, {"KILN_FAKE_CARD", "Other card"}}) {
    CHECK(multiplied(folder, 0, {{name, value}}) != right);
    CHECK(multiplied(folder, 4, {{name, value}}) == right);
    CHECK(multiplied(folder, 0, {{name, value}}) == right);
  }
  CHECK(multiplied(folder, 0) == right);
  for (const double place : {0.5, 0.999}) {
    folder.damage(place);
    CHECK(multiplied(folder, 0) != right);
    CHECK(multiplied(folder, 4) == right);
    CHECK(multiplied(folder, 0) == right);
  }
}

}  // namespace kiln::product_choices_test
