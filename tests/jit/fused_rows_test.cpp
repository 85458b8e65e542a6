// Kernels with reductions: the bits of the ops one by one, whose reductions keep the fixed order.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/loops/kernel_op.h"
#include "jit/pipeline/fused.h"
#include "jit/shape_rules.h"
#include "tests/effort.h"
#include "tests/jit/fused_programs.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::fused_rows_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

Graph softmax_of(std::string_view dtype) {
  return graph_of(
      "graph functional softmax(%x: T[n, m]) where m = 100, n = 3 {\n"
      "  %m = amax(%x, dim=[1], keepdim=true) : T[n, 1]\n"
      "  %d = sub(%x, %m) : T[n, m]\n"
      "  %e = exp(%d) : T[n, m]\n"
      "  %s = sum(%e, dim=[1], keepdim=true) : T[n, 1]\n"
      "  %r = reciprocal(%s) : T[n, 1]\n"
      "  %y = mul(%e, %r) : T[n, m]\n"
      "  return %y, %m\n"
      "}\n",
      dtype);
}

}  // namespace

TEST_CASE("softmax is one kernel of three passes, with the bits of its ops", "[jit][fused]") {
  for (const auto& [name, dtype] :
       {std::pair{"f32", DType::F32}, {"f64", DType::F64}, {"f16", DType::F16}, {"bf16", DType::BF16}}) {
    const Graph graph = softmax_of(name);
    const FusedGraph fused = fuse(graph);
    REQUIRE(fused.graph.own_ops.size() == 1);
    REQUIRE(fused.graph.nodes.size() == 1);
    for (const Dim n : {1, 7}) {
      for (const Dim m : {1, 15, 16, 17, 31, 32, 33, 100, 4096, 4097, 30001}) {
        for (const int threads : {1, 3}) {
          const Threads setting(threads);
          INFO(name << " " << n << " " << m);
          const Tensor x = noise({n, m}, dtype, 3, -9, 9);
          check_same(graph, fused, {&x, 1});
          const Tensor crossing = backwards(x);
          check_same(graph, fused, {&crossing, 1});
        }
      }
    }
  }
}

TEST_CASE("the passes of softmax print", "[jit][fused]") {
  CHECK(fuse(softmax_of("f32")).loops()[0] ==
        "kernel kernel_0 {\n"
        "  kept0 : f32[m] of each thread\n"
        "  for rows of [n] in threads {\n"
        "    for [m] in vectors of 16 {\n"
        "      r0 = load in0 : f32\n"
        "      reduced0 = maximum of r0 : f32\n"
        "    }\n"
        "    r0 = reduced0 : f32\n"
        "    store out0 = r0 : f32\n"
        "    for [m] in vectors of 16 {\n"
        "      r1 = load in0 : f32\n"
        "      r2 = sub r1, r0 : f32\n"
        "      r3 = exp r2 : f32\n"
        "      store kept0 = r3 : f32\n"
        "      reduced1 = sum of r3 : f32\n"
        "    }\n"
        "    r1 = reduced1 : f32\n"
        "    r2 = reciprocal r1 : f32\n"
        "    for [m] in vectors of 16 {\n"
        "      r0 = load kept0 : f32\n"
        "      r3 = mul r0, r2 : f32\n"
        "      store out1 = r3 : f32\n"
        "    }\n"
        "  }\n"
        "}\n");
}

TEST_CASE("a buffer that is read for the last time serves later passes", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 200]) where n = 30 {\n"
      "  %a = exp(%x) : f32[n, 200]\n"
      "  %sa = sum(%a, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %pa = div(%a, %sa) : f32[n, 200]\n"
      "  %b = exp(%pa) : f32[n, 200]\n"
      "  %sb = sum(%b, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %pb = div(%b, %sb) : f32[n, 200]\n"
      "  %c = exp(%pb) : f32[n, 200]\n"
      "  %sc = sum(%c, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %pc = div(%c, %sc) : f32[n, 200]\n"
      "  return %pc\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.loops().size() == 1);
  CHECK(fused.loops()[0].find("kept1 : f32[200] of each thread\n") != std::string::npos);
  CHECK(fused.loops()[0].find("kept2") == std::string::npos);
  for (const Dim n : {1, 30}) {
    const Tensor x = noise({n, 200}, DType::F32, 1);
    check_same(graph, fused, {&x, 1});
  }
}

namespace {

// As the derivatives of layer_norm: numbers of rows, and sums down the columns of what is computed from them.
Graph backward_of_norm(std::string_view dtype) {
  return graph_of(
      "graph functional backward(%x: T[n, m], %g: T[n, m], %w: T[m]) where m = 100, n = 20000 {\n"
      "  %s = sum(%x, dim=[1], keepdim=true) : T[n, 1]\n"
      "  %d = sub(%x, %s) : T[n, m]\n"
      "  %q = mul(%d, %d) : T[n, m]\n"
      "  %v = sum(%q, dim=[1], keepdim=true) : T[n, 1]\n"
      "  %h = mul(%d, %v) : T[n, m]\n"
      "  %gw = mul(%g, %w) : T[n, m]\n"
      "  %dx = mul(%gw, %h) : T[n, m]\n"
      "  %p = mul(%g, %h) : T[n, m]\n"
      "  %dw = sum(%p, dim=[0]) : T[m]\n"
      "  %half = mul(%dw, 0.5) : T[m]\n"
      "  %db = sum(%g, dim=[0], keepdim=true) : T[1, m]\n"
      "  %top = amax(%dx, dim=[0]) : T[m]\n"
      "  return %dx, %half, %db, %top\n"
      "}\n",
      dtype);
}

}  // namespace

TEST_CASE("reductions of rows and columns are one kernel, with the bits of their ops", "[jit][fused]") {
  for (const auto& [name, dtype] :
       {std::pair{"f32", DType::F32}, {"f64", DType::F64}, {"bf16", DType::BF16}}) {
    const Graph graph = backward_of_norm(name);
    const FusedGraph fused = fuse(graph);
    REQUIRE(fused.graph.nodes.size() == 1);
    for (const Dim n : {0, 1, 5, 31, 32, 33, 300, 4096, 4097, 9000}) {
      for (const Dim m : {0, 1, 15, 64, 100, 2100}) {
        if (n * m > 2'000'000 || !check_shapes(graph, {{"m", m}, {"n", n}}).empty()) continue;
        for (const int threads : {1, 3}) {
          const Threads setting(threads);
          INFO(name << " " << n << " " << m);
          check_same(graph, fused, {noise({n, m}, dtype, 1), noise({n, m}, dtype, 2), noise({m}, dtype, 3)});
        }
      }
    }
  }
}

TEST_CASE("columns alone are combined in tiles, several rows at once, and batch by batch", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[b, n, m], %y: i32[m], %z: f32[n, 1]) where b = 2, m = 100, n = 9000 {\n"
      "  %t = mul(%x, %y) : f32[b, n, m]\n"
      "  %u = add(%t, %z) : f32[b, n, m]\n"
      "  %s = sum(%u, dim=[1], keepdim=true) : f32[b, 1, m]\n"
      "  %r = sqrt(%s) : f32[b, 1, m]\n"
      "  %p = prod(%t, dim=[1]) : f32[b, m]\n"
      "  return %u, %r, %p\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.graph.nodes.size() == 1);
  for (const Dim b : {1, 3}) {
    for (const Dim n : {0, 1, 7, 40, 5000}) {
      for (const Dim m : {1, 3, 16, 63, 64, 200, 1025, 5000}) {
        if (b * n * m > 2'000'000) continue;
        for (const int threads : {1, 4}) {
          const Threads setting(threads);
          INFO(b << " " << n << " " << m);
          const Tensor x = noise({b, n, m}, DType::F32, 1);
          check_same(
              graph, fused,
              {(n + m) % 2 == 0 ? x : backwards(x), noise({m}, DType::I32, 2), noise({n, 1}, DType::F32, 3)});
        }
      }
    }
  }
}

TEST_CASE("sums of columns of few elements are left to the eager kernel", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, m]) where m = 10, n = 128 {\n"
      "  %t = exp(%x) : f32[n, m]\n"
      "  %u = neg(%t) : f32[n, m]\n"
      "  %s = sum(%u, dim=[0], keepdim=false) : f32[m]\n"
      "  return %s\n"
      "}\n");
  CHECK(fuse(graph).fusion() ==
        "kernel 0 over [n, m]\n"
        "  %t = exp(%x) : f32[n, m]\n"
        "  %u = neg(%t) : f32[n, m]\n"
        "%u to %s: its columns are few elements: they stay in cache\n");
}

TEST_CASE("what is known when all rows are done is computed after them", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, m]) where m = 100, n = 20000 {\n"
      "  %t = exp(%x) : f32[n, m]\n"
      "  %s = sum(%t, dim=[0], keepdim=true) : f32[1, m]\n"
      "  %r = div(%s, 2) : f32[1, m]\n"
      "  %y = div(%t, %r) : f32[n, m]\n"
      "  %z = neg(%y) : f32[n, m]\n"
      "  return %z\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.fusion() ==
        "kernel 0 over [n, m], row by row and down the columns\n"
        "  %t = exp(%x) : f32[n, m]\n"
        "  %s = sum(%t, dim=[0], keepdim=true) : f32[1, m]\n"
        "  %r = div(%s, 2) : f32[1, m]\n"
        "kernel 1 over [n, m]\n"
        "  %y = div(%t, %r) : f32[n, m]\n"
        "  %z = neg(%y) : f32[n, m]\n"
        "%t to %y: it is known when all rows are done, and read for each of them\n"
        "%r to %y: it is known when all rows are done, and read for each of them\n");
  CHECK(fused.loops()[0] ==
        "kernel kernel_0 {\n"
        "  for rows of [n] in threads {\n"
        "    for [m] in vectors of 16 {\n"
        "      r0 = load in0 : f32\n"
        "      r1 = exp r0 : f32\n"
        "      store out0 = r1 : f32\n"
        "      columns0 = sum of r1 : f32\n"
        "    }\n"
        "  }\n"
        "  r1 = constant 2 : i64\n"
        "  for [1, m] in threads, vectors of 16 {\n"
        "    r0 = load columns0 : f32\n"
        "    r2 = div r0, r1 : f32\n"
        "    store out1 = r2 : f32\n"
        "  }\n"
        "}\n");
  for (const Dim n : {1, 30, 700}) {
    const Tensor x = noise({n, 100}, DType::F32, 1);
    check_same(graph, fused, {&x, 1});
  }
}

TEST_CASE("random numbers are drawn row by row, those of the ops one by one", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, m]) where m = 100, n = 20000 {\n"
      "  %k = bernoulli.p(%x, p=0.9) : f32[n, m]\n"
      "  %d = mul(%x, %k) : f32[n, m]\n"
      "  %m = amax(%d, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %e = sub(%d, %m) : f32[n, m]\n"
      "  %r = randn_like(%x) : f32[n, m]\n"
      "  %f = mul(%e, %r) : f32[n, m]\n"
      "  %s = sum(%f, dim=[1], keepdim=true) : f32[n, 1]\n"
      "  %u = rand_like(%f) : f32[n, m]\n"
      "  %g = add(%u, %k) : f32[n, m]\n"
      "  %y = div(%g, %s) : f32[n, m]\n"
      "  %c = sum(%y, dim=[0]) : f32[m]\n"
      "  return %y, %c\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.graph.nodes.size() == 1);
  for (const auto& [n, m] : {std::pair<Dim, Dim>{0, 100}, {1, 1}, {30, 100}, {50, 33}, {2, 40000}}) {
    if (!check_shapes(graph, {{"m", m}, {"n", n}}).empty()) continue;
    for (const int threads : {1, 3}) {
      const Threads setting(threads);
      INFO(n << " " << m);
      const Tensor x = noise({n, m}, DType::F32, 1);
      check_same_draws(graph, fused, {&x, 1});
    }
  }
}

TEST_CASE("what is computed of rows reads tensors that broadcast to them", "[jit][fused]") {
  for (const char* length : {"100", "10"}) {
    const std::string text =
        "graph functional f(%x: f32[b, n, M], %u: f32[1], %v: f32[n, 1], %w: f32[n], %z: f32[1, 1, 1])"
        " where b = 3, n = 4 {\n"
        "  %e = exp(%x) : f32[b, n, M]\n"
        "  %s = sum(%e, dim=[2], keepdim=true) : f32[b, n, 1]\n"
        "  %su = mul(%s, %u) : f32[b, n, 1]\n"
        "  %sv = add(%su, %v) : f32[b, n, 1]\n"
        "  %sz = mul(%sv, %z) : f32[b, n, 1]\n"
        "  %t = amax(%e, dim=[2], keepdim=false) : f32[b, n]\n"
        "  %tu = mul(%t, %u) : f32[b, n]\n"
        "  %tw = add(%tu, %w) : f32[b, n]\n"
        "  %y = div(%e, %sz) : f32[b, n, M]\n"
        "  return %y, %tw\n"
        "}\n";
    const Graph graph = parse_graph(replaced(text, "M]", std::string(length) + "]"));
    const FusedGraph fused = fuse(graph);
    CHECK(fused.loops().size() <= 2);
    for (const auto& [b, n] : {std::pair<Dim, Dim>{3, 4}, {1, 1}, {5, 5}, {2, 40}}) {
      check_same(graph, fused,
                 {noise({b, n, std::stoi(length)}, DType::F32, 1), noise({1}, DType::F32, 2),
                  noise({n, 1}, DType::F32, 3), noise({n}, DType::F32, 4), noise({1, 1, 1}, DType::F32, 5)});
    }
  }
}

TEST_CASE("a reduction of everything is shared among threads block by block", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional loss(%x: f32[n, m], %y: f32[m]) where m = 100, n = 3 {\n"
      "  %d = sub(%x, %y) : f32[n, m]\n"
      "  %q = square(%d) : f32[n, m]\n"
      "  %s = sum(%q) : f32[]\n"
      "  %a = abs(%d) : f32[n, m]\n"
      "  %p = amin(%a) : f32[]\n"
      "  %z = mul(%q, %s) : f32[n, m]\n"
      "  return %s, %p, %z\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.graph.own_ops.size() == 1);
  for (const auto& [n, m] : {std::pair<Dim, Dim>{1, 1}, {5, 3}, {300, 400}, {1, 4096}, {2, 4095}}) {
    for (const int threads : {1, 2, 5}) {
      const Threads setting(threads);
      check_same(graph, fused, {noise({n, m}, DType::F32, 1), noise({m}, DType::F32, 2)});
    }
  }
}

TEST_CASE("random programs with short rows compiled give the bits of their ops", "[jit][fused]") {
  int row_interleaved = 0;
  for (unsigned seed = 0; seed < 150; seed += kEvery) {
    static constexpr Dim kLengths[] = {1, 2, 10, 16, 31, 33, 63};
    const Graph graph = row_program(seed + 1000, kLengths[seed % std::size(kLengths)]);
    const FusedGraph fused = fuse(graph);
    verify(fused.graph, "fuse");
    for (const std::string& each : fused.loops())
      row_interleaved += each.find("interleaved") != std::string::npos ? 1 : 0;
    for (const Dim n : {0, 1, 15, 16, 50}) {
      const SymbolValues symbols = {{"m", 70}, {"n", n}};
      if (!check_shapes(graph, symbols).empty()) continue;
      const Threads setting(n == 50 ? 3 : 1);
      INFO("seed " << seed << " " << n);
      check_same(graph, fused, noise_for(graph, symbols, seed));
    }
  }
  CHECK(row_interleaved > 10 / kEvery);
}

TEST_CASE("random programs with reductions compiled give the bits of their ops", "[jit][fused]") {
  int with_rows = 0, with_columns = 0;
  for (unsigned seed = 0; seed < 200; seed += kEvery) {
    const Graph graph = row_program(seed);
    verify(graph, "the test");
    const FusedGraph fused = fuse(graph);
    verify(fused.graph, "fuse");
    with_rows += fused.fusion().find("row by row\n") != std::string::npos ? 1 : 0;
    with_columns += fused.fusion().find("down the columns") != std::string::npos ? 1 : 0;
    for (const auto& [n, m] : {std::pair<Dim, Dim>{5, 70}, {3, 16}, {1, 9001}, {2, 5}, {4, 0}}) {
      const SymbolValues symbols = {{"m", m}, {"n", n}};
      if (!check_shapes(graph, symbols).empty()) continue;
      INFO("seed " << seed << " " << n << " " << m);
      check_same(graph, fused, noise_for(graph, symbols, seed));
    }
  }
  CHECK(with_rows > 40 / kEvery);
  CHECK(with_columns > 40 / kEvery);
}

TEST_CASE("what is found along rows is a kernel with what computes it", "[jit][fused]") {
  for (const std::string op : {"any", "all", "count_nonzero", "argmax", "argmin"}) {
    const bool finds = op.starts_with("arg");
    const std::string result = finds || op == "count_nonzero" ? "i64" : "bool";
    for (const std::string width : {"10", "100", "9000"}) {
      INFO(op << " of " << width);
      const Graph graph =
          parse_graph("graph functional f(%x: f32[300, " + width + "], %b: f32[" + width + "]) {\n" +  //
                      "  %a = add(%x, %b) : f32[300, " + width + "]\n" +                               //
                      "  %r = relu(%a) : f32[300, " + width + "]\n" +                                  //
                      "  %y = " + op + "(%r, dim=" + (finds ? "1" : "[1]") + ", keepdim=false) : " + result +
                      "[300]\n" + "  return %y\n}\n");
      const FusedGraph fused = fuse(graph);
      const bool is_short = width == "10";
      CHECK(kernels_of(fused.graph).size() == 1);
      CHECK((fused.loops()[0].find("for rows of") == std::string::npos) == is_short);
      const Dim n = std::stol(width);
      for (const int threads : {1, 3}) {
        const Threads setting(threads);
        check_same(graph, fused,
                   std::vector<Tensor>{kiln::testing::values({300, n}, DType::F32, 1),
                                       kiln::testing::values({n}, DType::F32, 2)});
      }
    }
  }
}

}  // namespace kiln::fused_rows_test
