// Kernels that take a product piece by piece and write over it: the bits of the ops one by one.
#include <catch2/catch.hpp>

#include <algorithm>

#include "jit/graph/text.h"
#include "jit/pipeline/fused_text.h"
#include "jit/runtime/program.h"
#include "tests/jit/fused_support.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::epilogue_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// How many products of the fused graph a kernel takes along.
std::int64_t taken(const Graph& fused) {
  const Program program = make_program(fused);
  return std::ranges::count(program.instructions, true, &Program::Instruction::feeds_next);
}

// On one thread and on several.
void check_epilogue(const std::string& text, std::vector<Tensor> arguments, std::int64_t expected = 1) {
  const Graph graph = parse_graph(text);
  const FusedGraph fused = fuse(graph);
  CHECK(taken(fused.graph) == expected);
  for (const int count : {1, 3}) {
    const Threads threads(count);
    check_same(graph, fused, arguments);
  }
}

Tensor plain(const Dims& sizes, DType dtype, int seed) { return noise(sizes, dtype, seed); }

}  // namespace

TEST_CASE("a kernel takes a product of any size along", "[jit][epilogue]") {
  const std::string text =
      "graph functional f(%x: f32[m, k], %w: f32[k, n], %b: f32[n]) where m = 200, k = 70, n = 300 {\n"
      "  %p = matmul(%x, %w) : f32[m, n]\n"
      "  %y = add(%p, %b) : f32[m, n]\n"
      "  %z = gelu(%y, approximate=\"none\") : f32[m, n]\n"
      "  return %z\n"
      "}\n";
  const Dims sizes[] = {{200, 70, 300}, {700, 64, 1100}, {3, 5, 7},
                        {513, 33, 67},  {150, 2, 1000},  {1, 40, 9000}};
  for (const Dims& each : sizes) {
    check_epilogue(text, {plain({each[0], each[1]}, DType::F32, 1), plain({each[1], each[2]}, DType::F32, 2),
                          values({each[2]}, DType::F32, 3)});
  }
}

TEST_CASE("several results of a layer with a bias", "[jit][epilogue]") {
  for (const std::string type : {"f32", "f64"}) {
    const DType dtype = type == "f32" ? DType::F32 : DType::F64;
    check_epilogue("graph functional f(%x: " + type + "[300, 130], %w: " + type + "[257, 130], %b: " + type +
                       "[257]) {\n" + "  %p = linear(%x, %w, %b) : " + type + "[300, 257]\n" +  //
                       "  %y = relu(%p) : " + type + "[300, 257]\n" +                           //
                       "  %positive = gt(%y, 0) : bool[300, 257]\n" +
                       "  %half = cast(%y, dtype=f16) : f16[300, 257]\n" +
                       "  return %y, %positive, %half\n}\n",
                   {plain({300, 130}, dtype, 1), plain({257, 130}, dtype, 2), plain({257}, dtype, 3)});
  }
}

TEST_CASE("a product that is read across is whole before the kernel runs", "[jit][epilogue]") {
  check_epilogue(
      "graph functional f(%x: f32[160, 130], %w: f32[130, 160], %c: f32[160, 160]) {\n"
      "  %p = matmul(%x, %w) : f32[160, 160]\n"
      "  %t = transpose(%p, dim0=0, dim1=1) : f32[160, 160]\n"
      "  %y = mul(%t, %c) : f32[160, 160]\n"
      "  %z = tanh(%y) : f32[160, 160]\n"
      "  return %z\n"
      "}\n",
      {plain({160, 130}, DType::F32, 1), plain({130, 160}, DType::F32, 2), plain({160, 160}, DType::F32, 3)});
}

TEST_CASE("batches of products, and products that others need", "[jit][epilogue]") {
  check_epilogue(
      "graph functional f(%x: f32[5, 90, 70], %w: f32[5, 70, 80]) {\n"
      "  %p = matmul(%x, %w) : f32[5, 90, 80]\n"
      "  %y = mul(%p, 0.125) : f32[5, 90, 80]\n"
      "  %z = exp(%y) : f32[5, 90, 80]\n"
      "  return %z\n"
      "}\n",
      {plain({5, 90, 70}, DType::F32, 1), plain({5, 70, 80}, DType::F32, 2)});
  check_epilogue(
      "graph functional f(%x: f32[190, 170], %w: f32[170, 180]) {\n"
      "  %p = matmul(%x, %w) : f32[190, 180]\n"
      "  %y = mul(%p, 0.125) : f32[190, 180]\n"
      "  %z = exp(%y) : f32[190, 180]\n"
      "  return %z, %p\n"
      "}\n",
      {plain({190, 170}, DType::F32, 1), plain({170, 180}, DType::F32, 2)}, 0);
}

TEST_CASE("a kernel takes a convolution along, image by image", "[jit][epilogue]") {
  for (const std::string type : {"f32", "f64"}) {
    const DType dtype = type == "f32" ? DType::F32 : DType::F64;
    check_epilogue(
        "graph functional f(%x: " + type + "[n, 3, 12, 11], %w: " + type + "[5, 3, 3, 3], %b: " + type +
            "[5]) where n = 40 {\n" +
            "  %p = convolution(%x, %w, %b, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1) : " +
            type + "[n, 5, 12, 11]\n" +                         //
            "  %y = relu(%p) : " + type + "[n, 5, 12, 11]\n" +  //
            "  %z = mul(%y, 0.5) : " + type + "[n, 5, 12, 11]\n" + "  return %z\n}\n",
        {plain({40, 3, 12, 11}, dtype, 1), plain({5, 3, 3, 3}, dtype, 2), values({5}, dtype, 3)});
  }
}

TEST_CASE("large images are taken along by stripes, and gradients of images too", "[jit][epilogue]") {
  check_epilogue(
      "graph functional f(%x: f32[2, 64, 80, 70], %w: f32[64, 64, 3, 3]) {\n"
      "  %p = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1) : "
      "f32[2, 64, 80, 70]\n"
      "  %y = relu(%p) : f32[2, 64, 80, 70]\n"
      "  %z = mul(%y, 0.5) : f32[2, 64, 80, 70]\n"
      "  return %z, %y\n"
      "}\n",
      {plain({2, 64, 80, 70}, DType::F32, 1), plain({64, 64, 3, 3}, DType::F32, 2)});
  check_epilogue(
      "graph functional f(%g: f32[30, 8, 20, 20], %w: f32[8, 4, 3, 3], %x: f32[30, 4, 20, 20]) {\n"
      "  %p = convolution_input(%g, %w, sizes=[20, 20], stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
      "groups=1) : f32[30, 4, 20, 20]\n"
      "  %m = gt(%x, 0) : bool[30, 4, 20, 20]\n"
      "  %y = mul(%p, %m) : f32[30, 4, 20, 20]\n"
      "  return %y\n"
      "}\n",
      {plain({30, 8, 20, 20}, DType::F32, 1), plain({8, 4, 3, 3}, DType::F32, 2),
       values({30, 4, 20, 20}, DType::F32, 3)});
}

TEST_CASE("one op is a kernel where it can take a large product along", "[jit][epilogue]") {
  const auto layer = [](const std::string& n) {
    return "graph functional f(%x: f32[" + n + ", 300], %w: f32[1000, 300], %b: f32[1000]) {\n" +
           "  %p = linear(%x, %w, %b) : f32[" + n + ", 1000]\n" +  //
           "  %y = relu(%p) : f32[" + n + ", 1000]\n" + "  return %y\n}\n";
  };
  const auto arguments = [](Dim n) -> std::vector<Tensor> {
    return {plain({n, 300}, DType::F32, 1), plain({1000, 300}, DType::F32, 2), values({1000}, DType::F32, 3)};
  };
  check_epilogue(layer("300"), arguments(300));
  check_epilogue(layer("20"), arguments(20), 0);
}

TEST_CASE("what is told of a kernel that takes a product along", "[jit][epilogue]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[8, 6], %w: f32[6, 4], %v: f32[4, 3]) {\n"
      "  %p = matmul(%x, %w) : f32[8, 4]\n"
      "  %y = relu(%p) : f32[8, 4]\n"
      "  %z = mul(%y, %y) : f32[8, 4]\n"
      "  %q = matmul(%z, %v) : f32[8, 3]\n"
      "  return %q, %z\n"
      "}\n");
  const std::string expected =
      "kernel 0 over [8, 4]\n"
      "  in pieces of %p = matmul(%x, %w) : f32[8, 4]\n"
      "  %y = relu(%p) : f32[8, 4]\n"
      "  %z = mul(%y, %y) : f32[8, 4]\n"
      "%z to %q: matmul is a call of a library\n";
  const FusedGraph fused = fuse(graph);
  CHECK(fused.fusion() == expected);
  CHECK(fusion_text(graph) == expected);
  CHECK_THAT(text_of(loops_lines(fused.graph)),
             Catch::Contains("for [8, 4] in pieces of in0, vectors of 16 {\n"));
  const std::vector<std::string> why = why_not_fused(graph);
  REQUIRE(why.size() == 1);
  CHECK(why[0] == "%z and %q are not one kernel: matmul is a call of a library");
}

}  // namespace kiln::epilogue_test
