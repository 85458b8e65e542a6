// Views and writes to parts within kernels: elements are read and stored where they lie.
#include <catch2/catch.hpp>

#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/passes.h"
#include "jit/runtime/executable.h"
#include "tensor/functions.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"

namespace kiln::fused_views_test {

using namespace kiln::jit;
using namespace kiln::testing;

TEST_CASE("a view between elementwise ops does not keep them apart", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 4, 6], %b: f32[4, 1], %s: f32[n, 6, 2, 2], %z: f32[]) where n = 3 {\n"
      "  %a = add(%x, %b) : f32[n, 4, 6]\n"
      "  %c = mul(%a, %z) : f32[n, 4, 6]\n"
      "  %d = exp(%c) : f32[n, 4, 6]\n"
      "  %e = transpose(%d, dim0=1, dim1=2) : f32[n, 6, 4]\n"
      "  %f = view(%s, shape=[n, 6, 4]) : f32[n, 6, 4]\n"
      "  %g = mul(%e, %f) : f32[n, 6, 4]\n"
      "  %h = unsqueeze(%g, dim=0) : f32[1, n, 6, 4]\n"
      "  %i = select(%h, dim=2, index=1) : f32[1, n, 4]\n"
      "  %j = neg(%i) : f32[1, n, 4]\n"
      "  return %j\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.graph.nodes.size() == 1);
  CHECK(fused.fusion().starts_with("kernel 0 over [1, n, 4]\n"));
  for (const Dim n : {0, 1, 3, 700}) {
    check_same(graph, fused,
               {values({n, 4, 6}, DType::F32, 1), values({4, 1}, DType::F32, 2),
                values({n, 6, 2, 2}, DType::F32, 3), values({}, DType::F32, 4)});
  }
}

TEST_CASE("a reshape of what cannot be viewed so is laid out before", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 4, 6], %w: f32[24]) where n = 50000 {\n"
      "  %a = exp(%x) : f32[n, 4, 6]\n"
      "  %b = view(%a, shape=[n, 24]) : f32[n, 24]\n"
      "  %c = mul(%b, %w) : f32[n, 24]\n"
      "  %d = transpose(%c, dim0=0, dim1=1) : f32[24, n]\n"
      "  %e = sum(%d, dim=[0]) : f32[n]\n"
      "  %f = sqrt(%e) : f32[n]\n"
      "  return %f\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.graph.nodes.size() == 1);
  for (const Dim n : {1, 3, 700}) {
    const Tensor x = values({n, 4, 6}, DType::F32, 1), w = values({24}, DType::F32, 2);
    for (const Tensor& each : {x, strided(x), backwards(x)}) {
      check_same(graph, fused, {each, w});
    }
  }
}

TEST_CASE("a view of what others read as well, or across rows of several tensors, stays", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 6], %y: f32[n, 6]) where n = 300 {\n"
      "  %a = mul(%x, %y) : f32[n, 6]\n"
      "  %b = transpose(%a, dim0=0, dim1=1) : f32[6, n]\n"
      "  %c = exp(%b) : f32[6, n]\n"
      "  %d = exp(%x) : f32[n, 6]\n"
      "  %e = transpose(%d, dim0=0, dim1=1) : f32[6, n]\n"
      "  %f = sqrt(%e) : f32[6, n]\n"
      "  return %c, %d, %f\n"
      "}\n");
  CHECK(fuse(graph).fusion() ==
        "%a to %b: transpose is a view: what it shows is read where it lies\n"
        "%b to %c: transpose is a view: what it shows is read where it lies\n"
        "%d to %e: transpose is a view: what it shows is read where it lies\n"
        "%e to %f: transpose is a view: what it shows is read where it lies\n");
}

TEST_CASE("a write to part of a tensor is a store into a view of it", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional heat(%u: f32[n, m]) where m = 60, n = 50 {\n"
      "  %0 = slice(%u, dim=0, start=1, end=-1, step=1) : f32[-2 + n, m]\n"
      "  %1 = slice(%0, dim=1, start=1, end=-1, step=1) : f32[-2 + n, -2 + m]\n"
      "  %2 = slice(%0, dim=1, start=2, step=1) : f32[-2 + n, -2 + m]\n"
      "  %3 = add(%1, %2) : f32[-2 + n, -2 + m]\n"
      "  %4 = slice_scatter(%0, %3, dim=1, start=1, end=-1, step=1) : f32[-2 + n, m]\n"
      "  %5 = slice_scatter(%u, %4, dim=0, start=1, end=-1, step=1) : f32[n, m]\n"
      "  return\n"
      "  write %u <- %5\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.loops().size() == 1);
  CHECK(fused.graph.nodes.size() == 1);
  CHECK(fused.loops()[0].find("store out0.slice(dim=0, start=1, end=-1, step=1)"
                              ".slice(dim=1, start=1, end=-1, step=1) = r2 : f32, the rest of in0\n") !=
        std::string::npos);
  for (const auto& [n, m] : {std::pair<Dim, Dim>{5, 6}, {3, 3}, {70, 300}, {300, 5}}) {
    for (const bool across : {false, true}) {
      const Tensor u = values(across ? Dims{m, n} : Dims{n, m}, DType::F32, 3);
      const Tensor a = across ? ops::transpose(u, 0, 1) : u, b = ops::clone(a);
      const SymbolValues symbols = {{"n", n}, {"m", m}};
      evaluate(graph, {&a, 1});
      Executable::make(fused.graph)->run({&b, 1}, symbols);
      INFO(n << " " << m << " " << across);
      CHECK(same_bits(a, b));
    }
  }
}

TEST_CASE("a part of a part of another dtype is converted on the way", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: i32[n], %m: bool[n], %v: f32[]) where n = 5 {\n"
      "  %a = slice(%m, dim=0, start=1, end=40, step=1) : bool[-1 + n]\n"
      "  %b = add(%v, 1.5) : f32[]\n"
      "  %c = select_scatter(%a, %b, dim=0, index=0) : bool[-1 + n]\n"
      "  %d = slice_scatter(%x, %c, dim=0, start=1, end=40, step=1) : i32[n]\n"
      "  return %d\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  for (const Dim n : {2, 5, 9}) {
    check_same(graph, fused,
               {values({n}, DType::I32, 1), values({n}, DType::Bool, 2), values({}, DType::F32, 3)});
  }
}

TEST_CASE("a write to a small part of an argument leaves the rest where it is", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional put(%cache: f32[n, m], %x: f32[2]) where m = 6, n = 5 {\n"
      "  %0 = select(%cache, dim=0, index=-2) : f32[m]\n"
      "  %1 = slice(%0, dim=0, start=1, end=3, step=1) : f32[2]\n"
      "  %2 = mul(%x, %1) : f32[2]\n"
      "  %3 = neg(%2) : f32[2]\n"
      "  %4 = slice_scatter(%0, %3, dim=0, start=1, end=3, step=1) : f32[m]\n"
      "  %5 = select_scatter(%cache, %4, dim=0, index=-2) : f32[n, m]\n"
      "  return %3\n"
      "  write %cache <- %5\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  verify(fused.graph, "fuse");
  CHECK(print_graph(fused.graph).find("scatter") == std::string::npos);
  CHECK(parse_graph(print_graph(graph)) == graph);
  for (const auto& [n, m] : {std::pair<Dim, Dim>{5, 6}, {40, 3}, {2, 300}}) {
    const Tensor a = values({n, m}, DType::F32, 3), b = ops::clone(a), x = values({2}, DType::F32, 1);
    const std::vector<Tensor> expected = {a, x}, actual = {b, x};
    b.raw_writable();  // a clone gets its memory when it is written
    const std::byte* const memory = b.storage()->data();
    const Tensors left = evaluate(graph, expected);
    const Tensors right = Executable::make(fused.graph)->run(actual, {{"n", n}, {"m", m}});
    CHECK(same_bits(a, b));
    CHECK(same_bits(left[0], right[0]));
    CHECK(b.storage()->data() == memory);
  }
  // All of it, or a part that something else reads as well, is a tensor of its own.
  const Graph read = parse_graph(
      "graph functional put(%cache: f32[9], %x: f32[2]) {\n"
      "  %0 = exp(%x) : f32[2]\n"
      "  %1 = slice_scatter(%cache, %0, dim=0, start=1, end=3, step=1) : f32[9]\n"
      "  return %1\n"
      "  write %cache <- %1\n"
      "}\n");
  CHECK(narrow_writes(read) == read);
}

TEST_CASE("a stencil of a stencil is one kernel where that is cheap", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f64[m, n, 5], %w: f64[n, 1]) where m = 30, n = 40 {\n"
      "  %0 = slice(%x, dim=1, start=1, step=1) : f64[m, n - 1, 5]\n"
      "  %1 = slice(%x, dim=1, start=0, end=-1, step=1) : f64[m, n - 1, 5]\n"
      "  %2 = sub(%0, %1) : f64[m, n - 1, 5]\n"
      "  %3 = slice(%w, dim=0, start=1, step=1) : f64[n - 1, 1]\n"
      "  %d = mul(%2, %3) : f64[m, n - 1, 5]\n"
      "  %4 = slice(%d, dim=0, start=1, end=-1, step=1) : f64[m - 2, n - 1, 5]\n"
      "  %5 = slice(%4, dim=1, start=1, step=1) : f64[m - 2, n - 2, 5]\n"
      "  %6 = slice(%d, dim=1, start=0, end=-1, step=1) : f64[m, n - 2, 5]\n"
      "  %7 = slice(%6, dim=0, start=1, end=-1, step=1) : f64[m - 2, n - 2, 5]\n"
      "  %y = sub(%5, %7) : f64[m - 2, n - 2, 5]\n"
      "  return %y\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.loops().size() == 1);
  CHECK_THAT(fused.fusion(), Catch::Contains("%d is computed where it is read, at 2 shifted places"));
  for (const Dim n : {2, 3, 4, 17, 300}) {
    const Tensor x = values({7, n, 5}, DType::F64, 1), w = values({n, 1}, DType::F64, 2);
    for (const Tensor& each : {x, strided(x), backwards(x)}) check_same(graph, fused, {each, w});
  }
}

TEST_CASE("what is costly to compute twice is stored and read at shifted places", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f64[n, 40]) where n = 30 {\n"
      "  %e = exp(%x) : f64[n, 40]\n"
      "  %s = sin(%e) : f64[n, 40]\n"
      "  %0 = slice(%s, dim=0, start=1, step=1) : f64[n - 1, 40]\n"
      "  %1 = slice(%s, dim=0, start=0, end=-1, step=1) : f64[n - 1, 40]\n"
      "  %y = sub(%0, %1) : f64[n - 1, 40]\n"
      "  %z = neg(%y) : f64[n - 1, 40]\n"
      "  return %z\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.loops().size() == 2);
  CHECK_THAT(fused.fusion(),
             Catch::Contains("%s to %0: it is read at 2 shifted places: to compute it at each"));
  check_same(graph, fused, {values({17, 40}, DType::F64, 1)});
}

}  // namespace kiln::fused_views_test
