// What a kernel keeps in memory by waiting for what it reads.
#include <catch2/catch.hpp>
#include <string>

#include "jit/graph/text.h"
#include "tests/jit/fused_support.h"

namespace kiln::fused_memory_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// The graph over %x and %y, f32[rows, 128] and f32[128, 128], in kernels that give what it does. What is
// fused.
std::string fused_over_two(Dim rows, const std::string& body) {
  const Graph graph = parse_graph("graph functional f(%x: f32[" + std::to_string(rows) +
                                  ", 128], %y: f32[128, 128]) {\n" + body + "}\n");
  const FusedGraph fused = fuse(graph);
  check_same(graph, fused,
             std::vector<Tensor>{values({rows, 128}, DType::F32, 1), values({128, 128}, DType::F32, 2)});
  return fused.fusion();
}

}  // namespace

TEST_CASE("sums of products do not wait for the last product", "[jit][fused]") {
  const std::string fusion = fused_over_two(128,
                                            "  %a = matmul(%x, %x) : f32[128, 128]\n"
                                            "  %b = matmul(%x, %y) : f32[128, 128]\n"
                                            "  %c = add(%a, %b) : f32[128, 128]\n"
                                            "  %d = matmul(%y, %x) : f32[128, 128]\n"
                                            "  %e = add(%c, %d) : f32[128, 128]\n"
                                            "  return %e\n");
  CHECK_THAT(fusion,
             Catch::Contains("%c to %e: what the first reads would be kept until the second can run"));
}

TEST_CASE("what derivatives take from a result is computed when they are", "[jit][fused]") {
  const std::string fusion = fused_over_two(128,
                                            "  %h = tanh(%x) : f32[128, 128]\n"
                                            "  %m = matmul(%h, %y) : f32[128, 128]\n"
                                            "  %s = mul(%h, %h) : f32[128, 128]\n"
                                            "  %d = sub(1.0, %s) : f32[128, 128]\n"
                                            "  %p = matmul(%m, %y) : f32[128, 128]\n"
                                            "  %g = mul(%p, %d) : f32[128, 128]\n"
                                            "  return %g\n");
  CHECK_THAT(fusion, Catch::StartsWith("kernel 0 over [128, 128]\n  %s"));
}

TEST_CASE("what is read a product later is computed then", "[jit][fused]") {
  const std::string fusion = fused_over_two(128,
                                            "  %h = tanh(%x) : f32[128, 128]\n"
                                            "  %m = matmul(%h, %y) : f32[128, 128]\n"
                                            "  %s = mul(%h, %h) : f32[128, 128]\n"
                                            "  %g = matmul(%m, %s) : f32[128, 128]\n"
                                            "  return %g\n");
  CHECK_THAT(fusion, Catch::StartsWith("%h to %m") &&
                         Catch::Contains("%h to %s: what the second gives would be kept until it is "
                                         "read, long after the first"));
}

TEST_CASE("masks are computed with what they are masks of", "[jit][fused]") {
  const std::string fusion = fused_over_two(512,
                                            "  %h = relu(%x) : f32[512, 128]\n"
                                            "  %m = matmul(%h, %y) : f32[512, 128]\n"
                                            "  %s = gt(%h, 0.0) : bool[512, 128]\n"
                                            "  %p = matmul(%m, %y) : f32[512, 128]\n"
                                            "  %g = where(%s, %p, 0.0) : f32[512, 128]\n"
                                            "  return %g\n");
  CHECK_THAT(fusion, Catch::StartsWith("kernel 0 over [512, 128]\n  %h"));
}

TEST_CASE("views are waited for by nobody, and keep nothing", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[130, 128]) {\n"
      "  %a = slice(%x, dim=0, start=0, end=128, step=1) : f32[128, 128]\n"
      "  %b = slice(%x, dim=0, start=1, end=129, step=1) : f32[128, 128]\n"
      "  %c = add(%a, %b) : f32[128, 128]\n"
      "  %d = slice(%x, dim=0, start=2, end=130, step=1) : f32[128, 128]\n"
      "  %e = transpose(%d, dim0=0, dim1=1) : f32[128, 128]\n"
      "  %g = mul(%c, %e) : f32[128, 128]\n"
      "  return %g\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK_THAT(fused.fusion(), Catch::StartsWith("kernel 0 over [128, 128]\n"));
  CHECK_THAT(fused.fusion(), !Catch::Contains("would be kept"));
  check_same(graph, fused, std::vector<Tensor>{values({130, 128}, DType::F32, 1)});
}

}  // namespace kiln::fused_memory_test
