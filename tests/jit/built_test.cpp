// What is in the shared objects of `kiln build`, and the function that runs it.
#include <catch2/catch.hpp>
#include <map>

#include "jit/built/payload.h"
#include "jit/built/run.h"
#include "jit/graph/text.h"
#include "jit/pipeline/code_cache.h"
#include "jit/runtime/prepared.h"
#include "tests/tensor/tensors.h"

namespace kiln::built_test {

using namespace kiln::jit;
using kiln::testing::make;
using kiln::testing::same_bits;

namespace {

constexpr const char* kGraph =
    "graph functional f(%x: f32[3, 40], %w: f32[40]) {\n"
    "  %a = mul(%x, %w) : f32[3, 40]\n"
    "  %b = exp(%a) : f32[3, 40]\n"
    "  %c = sum(%b, dim=[1], keepdim=false) : f32[3]\n"
    "  return %c\n"
    "}\n";

Tensor numbers(const Dims& sizes) {
  return make(sizes, DType::F32, [](std::int64_t i) { return 0.1 * static_cast<double>(i % 7); });
}

// The payload of the graph, whose second input is a constant.
Payload payload() {
  Payload made;
  made.graph = kGraph;
  made.inputs = {0, -1};
  made.constants = {numbers({40})};
  const UsedCodeStore store(
      {.find = [](std::string_view) { return std::optional<std::string>(); },
       .keep = [&](std::string_view key, std::string_view code) { made.code.emplace_back(key, code); }});
  static_cast<void>(prepared(parse_graph(kGraph), {.fused = true}));
  return made;
}

}  // namespace

TEST_CASE("built: a payload reads back as it was", "[built]") {
  const Payload made = payload();
  REQUIRE(!made.code.empty());
  const Payload again = payload_of(to_bytes(made));
  CHECK(again.graph == made.graph);
  CHECK(again.code == made.code);
  CHECK(again.inputs == made.inputs);
  REQUIRE(again.constants.size() == 1);
  CHECK(same_bits(again.constants[0], made.constants[0]));
  const std::string bytes = to_bytes(made);
  CHECK_THROWS(payload_of(std::string_view(bytes).substr(0, bytes.size() - 1)));
  CHECK_THROWS(payload_of("kiln"));
}

TEST_CASE("built: code that is there is found, and none is made", "[built]") {
  const Payload made = payload();
  const std::map<std::string, std::string, std::less<>> code(made.code.begin(), made.code.end());
  int kept = 0, found = 0;
  const UsedCodeStore store({.find = [&](std::string_view key) -> std::optional<std::string> {
                               const auto at = code.find(key);
                               if (at == code.end()) return std::nullopt;
                               ++found;
                               return at->second;
                             },
                             .keep = [&](std::string_view, std::string_view) { ++kept; }});
  const Tensor inputs[] = {numbers({3, 40}), numbers({40})};
  const Tensors results = prepared(parse_graph(kGraph), {.fused = true}).run->run(inputs);
  CHECK(found > 0);
  CHECK(kept == 0);
  CHECK(same_bits(results[0], prepared(parse_graph(kGraph)).run->run(inputs)[0]));
}

TEST_CASE("built: arrays are read and written where they are, and errors are codes", "[built]") {
  static const std::string bytes = to_bytes(payload());
  const Tensor x = numbers({3, 40});
  float sums[3] = {};
  const void* arguments[] = {x.raw()};
  void* results[] = {sums};
  REQUIRE(built_kiln_run(bytes.data(), bytes.size(), arguments, results) == 0);
  const Tensor inputs[] = {x, numbers({40})};
  const Tensor expected = prepared(parse_graph(kGraph)).run->run(inputs)[0];
  for (std::size_t i = 0; i < 3; ++i) CHECK(sums[i] == expected.data<float>()[i]);

  arguments[0] = nullptr;
  CHECK(built_kiln_run(bytes.data(), bytes.size(), arguments, results) == 1);
  CHECK(std::string(built_kiln_error()) == "x is NULL");
  arguments[0] = x.raw() + 2;
  CHECK(built_kiln_run(bytes.data(), bytes.size(), arguments, results) == 1);
  CHECK(std::string(built_kiln_error()) == "x is not aligned to its elements of 4 bytes");
}

}  // namespace kiln::built_test
