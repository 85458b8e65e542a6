// Elements that leave a model for a file beside it.
#include "onnx/export/external.h"

#include <catch2/catch.hpp>

namespace kiln::external_test {

using namespace kiln::onnx;

namespace {

TensorProto tensor_of(const std::string& name, std::size_t bytes) {
  TensorProto tensor;
  tensor.name = name;
  tensor.type = ElementType::UInt8;
  tensor.dims = {static_cast<std::int64_t>(bytes)};
  tensor.raw = std::string(bytes, name[0]);
  tensor.has_raw = true;
  return tensor;
}

}  // namespace

TEST_CASE("large elements leave a model, each from the start of a page on", "[external]") {
  ModelProto model;
  model.graph.initializers = {tensor_of("a", 5000), tensor_of("b", 16), tensor_of("c", 2000)};
  const std::vector<ExternalElements> taken = take_elements(model, "m.onnx.data");
  REQUIRE(taken.size() == 2);
  CHECK((taken[0].offset == 0 && taken[0].bytes == std::string(5000, 'a')));
  CHECK((taken[1].offset == 8192 && taken[1].bytes == std::string(2000, 'c')));

  const ModelProto again = read_model(write_model(model));
  CHECK(
      (again.graph.initializers[1].raw == std::string(16, 'b') && !again.graph.initializers[1].is_external));
  CHECK((again.graph.initializers[2].raw.empty() && again.graph.initializers[2].is_external));
  CHECK(again.graph.initializers[2].external ==
        StringPairs{{"location", "m.onnx.data"}, {"offset", "8192"}, {"length", "2000"}});
}

TEST_CASE("a model is one file as long as readers take it", "[external]") {
  ModelProto model;
  model.graph.initializers = {tensor_of("a", 1 << 20), tensor_of("b", 1 << 20)};
  const std::size_t for_others = std::size_t{64} << 20U;
  CHECK(fits_in_one_file(model));
  CHECK(fits_in_one_file(model, for_others + (2 << 20)));
  CHECK_FALSE(fits_in_one_file(model, for_others + (2 << 20) - 1));
}

}  // namespace kiln::external_test
