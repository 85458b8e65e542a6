// Gather loads within kernels (cat, pad, gather, index_select, embedding, x[i]): read where it
// is needed, with the bits and the errors of the ops one by one.
#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/passes/passes.h"
#include "tensor/functions.h"
#include "tests/jit/fused_support.h"
#include "tests/jit/graphs.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/threads.h"

namespace kiln::fused_gather_test {

using namespace kiln::jit;
using namespace kiln::testing;

namespace {

constexpr std::pair<const char*, DType> kDTypes[] = {
    {"f32", DType::F32}, {"f64", DType::F64}, {"f16", DType::F16}, {"u8", DType::U8}, {"i64", DType::I64}};

// Each kind of gather load on the way to one element of [n, m], and a row's worth of it.
const char* const kAll =
    "graph functional f(%x: T[n, m], %y: T[n, 7], %w: T[9, m], %i: i64[n], %j: i32[n, k], %b: T[n, 3, m])"
    " where k = 5, m = 100, n = 20000 {\n"
    "  %c = cat([%x, %y, %x], dim=1) : T[n, 7 + 2*m]\n"
    "  %c2 = add(%c, %c) : T[n, 7 + 2*m]\n"
    "  %e = embedding(%i, %w) : T[n, m]\n"
    "  %e2 = mul(%e, %x) : T[n, m]\n"
    "  %e3 = amax(%e2, dim=[1], keepdim=true) : T[n, 1]\n"
    "  %e4 = sub(%e2, %e3) : T[n, m]\n"
    "  %g = gather(%x, %j, dim=1) : T[n, k]\n"
    "  %g2 = neg(%g) : T[n, k]\n"
    "  %s = index_select(%b, %i, dim=0) : T[n, 3, m]\n"
    "  %s2 = maximum(%s, %b) : T[n, 3, m]\n"
    "  %p = constant_pad(%x, pad=[2, -1, 1, 3], value=1) : T[4 + n, 1 + m]\n"
    "  %p2 = mul(%p, 3) : T[4 + n, 1 + m]\n"
    "  %t = stack([%x, %e], dim=2) : T[n, m, 2]\n"
    "  %t2 = add(%t, 1) : T[n, m, 2]\n"
    "  %k = index(%b, [%i, none, %i]) : T[n, 3]\n"
    "  %k2 = add(%k, 2) : T[n, 3]\n"
    "  return %c2, %e4, %e2, %g2, %s2, %p2, %t2, %k2\n"
    "}\n";

Tensor indices(const Dims& sizes, DType dtype, Dim limit) {
  return make(sizes, dtype, [&](std::int64_t i) { return static_cast<double>((i * 7 + i / 3) % limit); });
}

std::vector<Tensor> arguments_of(DType dtype, Dim n, Dim m, Dim k) {
  const Dim least = std::max<Dim>(1, std::min(n, m));
  return {values({n, m}, dtype, 1),
          values({n, 7}, dtype, 2),
          values({9, m}, dtype, 3),
          indices({n}, DType::I64, std::min<Dim>(9, least)),
          indices({n, k}, DType::I32, std::max<Dim>(1, m)),
          values({n, 3, m}, dtype, 4)};
}

}  // namespace

TEST_CASE("a gather load is read by the kernel that needs it", "[jit][fused]") {
  for (const auto& [name, dtype] : kDTypes) {
    if (name == std::string_view("u8")) continue;  // has no negative to pad with
    const Graph graph = graph_of(kAll, name);
    const FusedGraph fused = fuse(graph);
    const std::string text = print_graph(fused.graph);
    for (const char* op : {"cat", "gather", "index_select", "constant_pad", "stack", "index", "embedding"})
      CHECK(text.find(std::string("= ") + op + "(") == std::string::npos);
    for (const auto& [n, m, k] : {std::tuple<Dim, Dim, Dim>{5, 100, 5},
                                  {1, 1, 1},
                                  {40, 9, 3},
                                  {3, 2000, 70},
                                  {700, 17, 0},
                                  {9, 64, 130}}) {
      for (const int threads : {1, 3}) {
        const Threads setting(threads);
        INFO(name << " " << n << " " << m << " " << k);
        std::vector<Tensor> arguments = arguments_of(dtype, n, m, k);
        check_same(graph, fused, arguments);
        for (const std::size_t other : {0, 2, 5}) arguments[other] = backwards(arguments[other]);
        check_same(graph, fused, arguments);
        for (const std::size_t other : {1, 3, 4, 5}) arguments[other] = strided(arguments[other]);
        check_same(graph, fused, arguments);
      }
    }
  }
}

TEST_CASE("gather loads print", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 8], %w: f32[8, n], %i: i64[4]) where n = 3 {\n"
      "  %t = transpose(%w, dim0=0, dim1=1) : f32[n, 8]\n"
      "  %c = cat([%x, %t], dim=1) : f32[n, 16]\n"
      "  %d = exp(%c) : f32[n, 16]\n"
      "  %e = sqrt(%d) : f32[n, 16]\n"
      "  %k = index(%e, [none, %i]) : f32[n, 4]\n"
      "  %l = neg(%k) : f32[n, 4]\n"
      "  %m = abs(%l) : f32[n, 4]\n"
      "  return %m\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  REQUIRE(fused.loops().size() == 2);
  CHECK(fused.loops()[0].find("r0 = load cat(in0, in1.transpose(dim0=0, dim1=1), dim=1) : f32\n") !=
        std::string::npos);
  CHECK(fused.loops()[1].find("r0 = load index(in0, none, in1) : f32\n") != std::string::npos);
  CHECK(fused.fusion().find("%e to %k: it reads at computed places what the same kernel makes\n") !=
        std::string::npos);
  check_same(graph, fused,
             {values({3, 8}, DType::F32, 1), values({8, 3}, DType::F32, 2), indices({4}, DType::I64, 16)});
}

TEST_CASE("an index that computed values make is read from memory", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, m], %i: i64[n, m]) where m = 70, n = 30 {\n"
      "  %a = exp(%x) : f32[n, m]\n"
      "  %j = remainder(%i, 5) : i64[n, m]\n"
      "  %g = gather(%x, %j, dim=1) : f32[n, m]\n"
      "  %b = mul(%g, %a) : f32[n, m]\n"
      "  %h = gather(%b, %j, dim=0) : f32[n, m]\n"
      "  %c = add(%h, %a) : f32[n, m]\n"
      "  return %c\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  verify(fused.graph, "fuse");
  for (const auto& [n, m] : {std::pair<Dim, Dim>{5, 5}, {30, 70}, {6, 3000}}) {
    check_same(graph, fused, {values({n, m}, DType::F32, 1), indices({n, m}, DType::I64, 900)});
  }
}

TEST_CASE("an index out of range is the error of its op, whoever reads it", "[jit][fused]") {
  const Graph graph = graph_of(kAll, "f32");
  const FusedGraph fused = fuse(graph);
  for (const auto& [operand, wrong] : {std::pair<std::size_t, double>{3, 9}, {3, -1}, {4, 100}, {4, -101}}) {
    std::vector<Tensor> arguments = arguments_of(DType::F32, 20, 100, 5);
    const Tensor index = arguments[operand];
    arguments[operand] = make(index.sizes(), index.dtype(), [&, wrong = wrong](std::int64_t i) {
      return i == index.numel() / 2 ? wrong : 0.0;
    });
    check_same(graph, fused, arguments);
  }
  // Even where nothing is read.
  const Graph empty = parse_graph(
      "graph functional f(%x: f32[n, m], %i: i64[2]) where m = 8, n = 3 {\n"
      "  %s = index_select(%x, %i, dim=0) : f32[2, m]\n"
      "  %a = abs(%s) : f32[2, m]\n"
      "  return %a\n"
      "}\n");
  const std::vector<Tensor> arguments = {values({3, 0}, DType::F32, 1), indices({2}, DType::I64, 9)};
  const Tensor beyond = make({2}, DType::I64, [](std::int64_t i) { return static_cast<double>(3 * i); });
  const std::vector<Tensor> wrong = {arguments[0], beyond};
  check_same(empty, fuse(empty), wrong);
}

TEST_CASE("tensors that are converted when they are joined are joined before", "[jit][fused]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[4], %y: i32[3]) {\n"
      "  %c = cat([%x, %y], dim=0) : f32[7]\n"
      "  %d = exp(%c) : f32[7]\n"
      "  %e = sqrt(%d) : f32[7]\n"
      "  return %e\n"
      "}\n");
  const FusedGraph fused = fuse(graph);
  CHECK(fused.fusion().ends_with("%c to %d: cat converts what it reads\n"));
  check_same(graph, fused, {values({4}, DType::F32, 1), values({3}, DType::I32, 2)});
}

TEST_CASE("reversed dimensions and triangles are read where they are needed", "[jit][fused]") {
  const std::string text =
      "graph functional f(%x: T[b, n, m], %y: T[b, n, m]) where b = 2, m = 300, n = 200 {\n"
      "  %r = flip(%x, dims=[2]) : T[b, n, m]\n"
      "  %q = flip(%x, dims=[0, -2]) : T[b, n, m]\n"
      "  %l = tril(%x, diagonal=1) : T[b, n, m]\n"
      "  %u = triu(%y, diagonal=-2) : T[b, n, m]\n"
      "  %a = mul(%r, %y) : T[b, n, m]\n"
      "  %c = add(%a, %q) : T[b, n, m]\n"
      "  %d = maximum(%l, %u) : T[b, n, m]\n"
      "  %s = amax(%d, dim=[2], keepdim=true) : T[b, n, 1]\n"
      "  %e = sub(%d, %s) : T[b, n, m]\n"
      "  return %c, %e\n"
      "}\n";
  for (const auto& [name, dtype] : kDTypes) {
    const Graph graph = graph_of(text, name);
    const FusedGraph fused = fuse(graph);
    const std::string fused_text = print_graph(fused.graph);
    for (const char* op : {"flip", "tril", "triu"})
      CHECK(fused_text.find(std::string("= ") + op + "(") == std::string::npos);
    for (const auto& [b, n, m] : {std::tuple<Dim, Dim, Dim>{2, 5, 100},
                                  {1, 1, 1},
                                  {3, 40, 9},
                                  {2, 7, 1},
                                  {1, 3, 2000},
                                  {1, 700, 17},
                                  {2, 64, 64}}) {
      for (const int threads : {1, 3}) {
        const Threads setting(threads);
        INFO(name << " " << b << " " << n << " " << m);
        std::vector<Tensor> arguments = {values({b, n, m}, dtype, 1), values({b, n, m}, dtype, 2)};
        check_same(graph, fused, arguments);
        check_same(graph, fused, {backwards(arguments[0]), strided(arguments[1])});
      }
    }
  }
}

}  // namespace kiln::fused_gather_test
