// Kernels whose operands are spread over rows and planes: the bits of the ops one by one, for rows of every
// remainder, on any number of threads.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/runtime/executable.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::broadcast_rows_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// `write`: over the first argument, of which no element may be computed twice.
Graph spread_over_rows(Dim planes, Dim rows, Dim columns, std::string_view dtype, bool write) {
  const std::string whole = fmt::format("{}[{}, {}, {}]", dtype, planes, rows, columns);
  return parse_graph(
      fmt::format("graph functional f(%x: {0}, %r: {1}[{4}], %c: {1}[{2}, {3}, 1], %p: {1}[{2}, 1, {4}], "
                  "%q: {1}[{3}, 1]) {{\n"
                  "  %0 = mul(%x, %r) : {0}\n"
                  "  %1 = add(%0, %c) : {0}\n"
                  "  %2 = mul(%1, %p) : {0}\n"
                  "  %3 = sub(%2, %q) : {0}\n"
                  "  %4 = relu(%3) : {0}\n"
                  "  return %4\n"
                  "{5}}}\n",
                  whole, dtype, planes, rows, columns, write ? "  write %x <- %3\n" : ""));
}

void check_spread(const Graph& graph, Inputs arguments) {
  Tensors expected;
  for (const Tensor& each : arguments) expected.push_back(ops::clone(each));
  const Tensors wanted = evaluate(graph, expected);
  const Tensors results = Executable::make(fuse(graph).graph)->run(arguments);
  REQUIRE(results.size() == wanted.size());
  for (std::size_t k = 0; k < results.size(); ++k) CHECK(same_bits(results[k], wanted[k]));
  for (std::size_t k = 0; k < arguments.size(); ++k) CHECK(same_bits(arguments[k], expected[k]));
}

}  // namespace

TEST_CASE("operands that are spread over rows and planes", "[jit][rows]") {
  for (const int count : {1, 3}) {
    const Threads threads(count);
    for (const auto& [dtype, as] : {std::pair(DType::F32, "f32"),
                                    {DType::F64, "f64"},
                                    {DType::I32, "i32"},
                                    {DType::I8, "i8"},
                                    {DType::F16, "f16"},
                                    {DType::BF16, "bf16"}}) {
      for (const Dim columns : {15, 16, 17, 24, 32, 63, 64, 65, 80}) {
        for (const auto& [planes, rows] : {std::pair<Dim, Dim>{1, 1}, {1, 2}, {3, 1}, {2, 3}, {3, 40}}) {
          for (const bool write : {false, true}) {
            CAPTURE(count, as, planes, rows, columns, write);
            const Tensors arguments = {values({planes, rows, columns}, dtype, 1), values({columns}, dtype, 2),
                                       values({planes, rows, 1}, dtype, 3),
                                       values({planes, 1, columns}, dtype, 4), values({rows, 1}, dtype, 5)};
            check_spread(spread_over_rows(planes, rows, columns, as, write), arguments);
          }
        }
      }
    }
  }
}

TEST_CASE("rows of operands that lie apart, in large results", "[jit][rows]") {
  const Threads threads(3);
  const Graph graph = spread_over_rows(5, 300, 1040, "f32", false);
  const Tensor wide = values({5, 300, 2080}, DType::F32, 1);
  check_spread(graph, Tensors{Tensor::alias(wide, {Dims{5, 300, 1040}, Dims{624'000, 2080, 1}, 7}),
                              values({1040}, DType::F32, 2), values({5, 300, 1}, DType::F32, 3),
                              values({5, 1, 1040}, DType::F32, 4), values({300, 1}, DType::F32, 5)});
}

}  // namespace kiln::broadcast_rows_test
