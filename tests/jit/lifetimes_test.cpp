// How much memory a graph takes at once: what it makes, from where it is made to where it is last read.
#include "jit/graph/lifetimes.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"

namespace kiln::lifetimes_test {

using namespace kiln::jit;

TEST_CASE("values take memory until they, or views of them, are read for the last time", "[jit][lifetimes]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[n, 10]) where n = 100 {\n"
      "  %a = exp(%x) : f32[n, 10]\n"                                 // 4000
      "  %b = neg(%a) : f32[n, 10]\n"                                 // 8000, then 4000
      "  %v = transpose(%b, dim0=0, dim1=1) : f32[10, n]\n"           // a view of b
      "  %c = matmul(%b, %v) : f32[n, n]\n"                           // 44000, then 40000
      "  %d = sum(%c, dim=[0], keepdim=false, dtype=f64) : f64[n]\n"  // 40800, then 800
      "  return %d\n"
      "}\n");
  CHECK(Lifetimes(graph).peak_bytes() == 44000);
}

TEST_CASE("what the caller gets stays, arguments are the caller's", "[jit][lifetimes]") {
  const Graph graph = parse_graph(
      "graph forward f(%x: i8[64], %y: i8[64]) {\n"
      "  %a = add(%x, %y) : i8[64]\n"
      "  %b = neg(%a) : i8[64]\n"
      "  %c = abs(%b) : i8[64]\n"
      "  %w = add(%x, 1) : i8[64]\n"
      "  return %c\n"
      "  write %x <- %w\n"
      "  save %a\n"
      "}\n");
  CHECK(Lifetimes(graph).peak_bytes() == 3 * 64);
  const Graph passes_on = parse_graph("graph functional f(%x: f32[9]) {\n  return %x\n}\n");
  CHECK(Lifetimes(passes_on).peak_bytes() == 0);
}

TEST_CASE("values are stored in the memory of what they are views of, or were written over",
          "[jit][lifetimes]") {
  const Graph graph = parse_graph(
      "graph functional f(%x: f32[2, 3]) {\n"
      "  %a = exp(%x) : f32[2, 3]\n"
      "  %v = transpose(%a, dim0=0, dim1=1) : f32[3, 2]\n"
      "  %b = neg_(%a) : f32[2, 3]\n"
      "  %w = select(%x, dim=0, index=0) : f32[3]\n"
      "  return %b, %w\n"
      "}\n");
  const Lifetimes lifetimes(graph);
  CHECK(lifetimes.buffer(2) == 1);  // %v is a view of %a
  CHECK(lifetimes.buffer(3) == 1);  // %b was written over it
  CHECK(lifetimes.buffer(4) == 0);  // %w is a view of an argument
  CHECK(lifetimes.peak_bytes() == 24);
}

}  // namespace kiln::lifetimes_test
