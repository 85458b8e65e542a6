// Kernels whose rows are short: many of them side by side, with the bits of the ops one by one.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::fused_short_rows_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

// As log_softmax and layer_norm: numbers of rows, a tensor for each row and one for all of them.
const char* const kNormal =
    "graph functional f(%x: T[n, M], %w: T[M], %r: T[n, 1], %z: T[]) where n = 50 {\n"
    "  %m = amax(%x, dim=[1], keepdim=true) : T[n, 1]\n"
    "  %d = sub(%x, %m) : T[n, M]\n"
    "  %e = exp(%d) : T[n, M]\n"
    "  %s = sum(%e, dim=[1], keepdim=true) : T[n, 1]\n"
    "  %l = log(%s) : T[n, 1]\n"
    "  %lr = mul(%l, %r) : T[n, 1]\n"
    "  %y = sub(%d, %lr) : T[n, M]\n"
    "  %q = mul(%y, %e) : T[n, M]\n"
    "  %p = prod(%q, dim=[1], keepdim=true) : T[n, 1]\n"
    "  %yw = mul(%y, %w) : T[n, M]\n"
    "  %yz = add(%yw, %z) : T[n, M]\n"
    "  %yp = add(%yz, %p) : T[n, M]\n"
    "  %i = amin(%yz, dim=[1], keepdim=true) : T[n, 1]\n"
    "  %yi = sub(%yp, %i) : T[n, M]\n"
    "  return %yi, %lr, %p, %i\n"
    "}\n";

}  // namespace

TEST_CASE("short rows are one kernel, side by side", "[jit][fused]") {
  for (const auto& [name, dtype] :
       {std::pair{"f32", DType::F32}, {"f64", DType::F64}, {"f16", DType::F16}, {"bf16", DType::BF16}}) {
    for (const Dim m : {1, 2, 10, 15, 16, 17, 31, 32, 33, 63}) {
      const Graph graph = graph_of(replaced(kNormal, "M", std::to_string(m)), name);
      const FusedGraph fused = fuse(graph);
      REQUIRE(fused.graph.nodes.size() == 1);
      REQUIRE(fused.loops()[0].find("for rows of [n] in threads, 16 interleaved {") != std::string::npos);
      for (const Dim n : {0, 1, 15, 16, 17, 33, 1000}) {
        const Threads setting(static_cast<int>(n % 2 + 1));
        INFO(name << " " << n << " " << m);
        std::vector<Tensor> arguments = {noise({n, m}, dtype, 1, -4, 4), noise({m}, dtype, 2),
                                         noise({n, 1}, dtype, 3), noise({}, dtype, 4)};
        check_same(graph, fused, arguments);
        arguments[0] = backwards(arguments[0]);
        arguments[2] = strided(arguments[2]);
        check_same(graph, fused, arguments);
      }
    }
  }
}

TEST_CASE("loops of short rows print", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 10]) where n = 50 {\n"
      "  %e = exp(%x) : f32[n, 10]\n"
      "  %s = sum(%e, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %r = reciprocal(%s) : f32[n, 1]\n"
      "  %y = mul(%e, %r) : f32[n, 10]\n"
      "  return %y, %s\n"
      "}\n");
  CHECK(fuse(graph).loops()[0] ==
        "kernel kernel_0 {\n"
        "  kept0 : f32[10] of 16 rows\n"
        "  kept1 : f32 of 16 rows\n"
        "  for rows of [n] in threads, 16 interleaved {\n"
        "    for [10] {\n"
        "      r0 = load in0 : f32\n"
        "      r1 = exp r0 : f32\n"
        "      store kept0 = r1 : f32\n"
        "      reduced0 = sum of r1 : f32\n"
        "    }\n"
        "    r0 = load reduced0 : f32\n"
        "    r1 = reciprocal r0 : f32\n"
        "    store out0 = r0 : f32\n"
        "    store kept1 = r1 : f32\n"
        "    for [10] {\n"
        "      r0 = load kept0 : f32\n"
        "      r1 = load kept1 : f32\n"
        "      r2 = mul r0, r1 : f32\n"
        "      store out1 = r2 : f32\n"
        "    }\n"
        "  }\n"
        "}\n");
}

TEST_CASE("short rows of integers, errors, and gather loads", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: i32[n, 7], %y: i32[n, 7], %i: i64[n], %w: u8[20, 7]) where n = 50 {\n"
      "  %e = embedding(%i, %w) : u8[n, 7]\n"
      "  %a = add(%x, %e) : i32[n, 7]\n"
      "  %s = sum(%a, dim=[1], keepdim=true) : i64[n, 1]\n"
      "  %f = floor_div(%a, %y) : i32[n, 7]\n"
      "  %g = mul(%f, %s) : i64[n, 7]\n"
      "  %m = amax(%g, dim=[1]) : i64[n]\n"
      "  %b = add(%g, %e) : i64[n, 7]\n"
      "  return %b, %m\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  for (const Dim n : {1, 16, 40}) {
    std::vector<Tensor> arguments = {
        noise({n, 7}, DType::I32, 1, -90, 90),
        make({n, 7}, DType::I32, [](std::int64_t i) { return double(i % 9 + 1); }),
        make({n}, DType::I64, [](std::int64_t i) { return double(i * 7 % 20); }),
        noise({20, 7}, DType::U8, 2, 0, 200)};
    check_same(graph, fused, arguments);
    arguments[1] = make({n, 7}, DType::I32, [n](std::int64_t i) { return i == 7 * n - 1 ? 0.0 : 3.0; });
    check_same(graph, fused, arguments);
    arguments[2] = make({n}, DType::I64, [](std::int64_t) { return 20.0; });
    check_same(graph, fused, arguments);
  }
}

TEST_CASE("random numbers of short rows are those of the ops", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 9]) where n = 50 {\n"
      "  %k = bernoulli.p(%x, p=0.5) : f32[n, 9]\n"
      "  %d = mul(%x, %k) : f32[n, 9]\n"
      "  %s = sum(%d, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %r = randn_like(%x) : f32[n, 9]\n"
      "  %y = mul(%r, %s) : f32[n, 9]\n"
      "  %z = add(%y, %k) : f32[n, 9]\n"
      "  return %z\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.graph.nodes.size() == 1);
  for (const Dim n : {1, 16, 50, 700}) {
    const Tensor x = noise({n, 9}, DType::F32, 1);
    check_same_draws(graph, fused, {&x, 1});
  }
}

TEST_CASE("short rows that nothing goes through again are left to the eager kernel", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 10]) where n = 50 {\n"
      "  %e = exp(%x) : f32[n, 10]\n"
      "  %s = sum(%e, dim=[1], keepdim=false) : f32[n]\n"
      "  %r = sqrt(%s) : f32[n]\n"
      "  return %r\n"
      "}\n");
  CHECK(fuse(graph).fusion() ==
        "%e to %s: its rows are short, and are not gone through again\n"
        "%s to %r: its rows are short, and are not gone through again\n");
}

TEST_CASE("rows that are short now and may be long later are left to the eager kernel", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, m]) where m = 10, n = 50 {\n"
      "  %e = exp(%x) : f32[n, m]\n"
      "  %s = sum(%e, dim=[1], keepdim=false) : f32[n]\n"
      "  return %s\n"
      "}\n");
  CHECK(fuse(graph).fusion() == "%e to %s: its rows are short, and may be long in another call\n");
}

}  // namespace kiln::fused_short_rows_test
