// What the text of loops says of how kernels run.
#include "jit/cpu/kernel_notes.h"

#include <catch2/catch.hpp>

#include "jit/graph/text.h"
#include "jit/pipeline/fused_text.h"
#include "tests/jit/fused_support.h"

namespace kiln::kernel_notes_test {

using namespace kiln::jit;

namespace {

std::string loops_of(const std::string& graph) { return text_of(loops_lines(outline(parse_graph(graph)))); }

}  // namespace

TEST_CASE("loads that are not read in place say how they are", "[jit][notes]") {
  const std::string text = loops_of(
      "graph functional f(%x: f32[200, 300], %y: f32[300, 200], %i: i64[200]) {\n"
      "  %t = transpose(%y, dim0=0, dim1=1) : f32[200, 300]\n"
      "  %a = add(%x, %t) : f32[200, 300]\n"
      "  %k = index_select(%x, %i, dim=0) : f32[200, 300]\n"
      "  %b = mul(%a, %k) : f32[200, 300]\n"
      "  return %b\n"
      "}\n");
  CHECK_THAT(text, Catch::Contains("copied in tiles first"));
  CHECK_THAT(text, Catch::Contains("picked in blocks of 1024"));
  CHECK_THAT(loops_of("graph functional f(%x: f32[10, 10], %y: f32[10, 10]) {\n"
                      "  %t = transpose(%y, dim0=0, dim1=1) : f32[10, 10]\n"
                      "  %a = add(%x, %t) : f32[10, 10]\n"
                      "  %b = mul(%a, %x) : f32[10, 10]\n"
                      "  return %b\n"
                      "}\n"),
             Catch::Contains("gathered in blocks of 1024"));
}

TEST_CASE("rows, columns and launches say how they are shared out", "[jit][notes]") {
  CHECK_THAT(loops_of("graph functional f(%x: f32[2, 100000]) {\n"
                      "  %e = exp(%x) : f32[2, 100000]\n"
                      "  %s = sum(%e, dim=[1], keepdim=true) : f32[2, 1]\n"
                      "  %y = div(%e, %s) : f32[2, 100000]\n"
                      "  return %y\n"
                      "}\n"),
             Catch::Contains("for rows of [2] pass by pass, blocks of 4096 in threads {\n"));
  CHECK_THAT(
      loops_of("graph functional f(%x: f32[2000, 3000]) {\n"
               "  %e = exp(%x) : f32[2000, 3000]\n"
               "  %s = sum(%e, dim=[0], keepdim=true) : f32[1, 3000]\n"
               "  return %s\n"
               "}\n"),
      Catch::Contains("for rows of [2000] in threads, blocks of 4096 rows, tiles of 1024 columns {\n"));
  const std::string both = loops_of(
      "graph functional f(%x: f32[10], %y: f32[12]) {\n"
      "  %a = add(%x, %x) : f32[10]\n"
      "  %b = mul(%a, %x) : f32[10]\n"
      "  %c = add(%y, %y) : f32[12]\n"
      "  %d = mul(%c, %y) : f32[12]\n"
      "  return %b, %d\n"
      "}\n");
  CHECK_THAT(both, Catch::Contains("for [10] in one launch, vectors of 16 {\n"));
  CHECK_THAT(both, Catch::Contains("for [12] in one launch, vectors of 16 {\n"));
}

}  // namespace kiln::kernel_notes_test
