// Compiled functions that reduce down columns on a card: the CPU's bits, and how threads share the work.
#include <catch2/catch.hpp>

#include "jit/cuda/columns.h"
#include "tensor/fixed_order.h"
#include "tests/cuda/agree.h"
#include "tests/cuda/child.h"
#include "tests/cuda/talk.h"

namespace kiln::compiled_columns_test {

using namespace kiln::testing;

TEST_CASE("compiled reductions down columns have the CPU's bits on a card", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return printed_for(
              {kAgree,
               // With what computes the elements and what follows from the results; several at once; after
               // reductions of rows, whose results and kept values are read on the way down.
               "@jit\nfn down(x) { y = x.sin() * 2; return (y.sum(0) / 3 + 1, y.amax(0).half(), "
               "(x.half() + 1).prod(0), y.exp()) }",
               "@jit\nfn both_ways(x) { y = x.softmax(-1); return (y.log(), (y + 1).sum(0), "
               "(x - x.mean(-1, true)).sum(0) * 2, y) }",
               "@jit\nfn of_each(x) { y = dropout(x, 0.5) + 1; return (y.sum(1), y.amin(1) * 2) }",
               "print(agree(down, [[70, 40], [4100, 3], [1, 9]]))",
               "@jit\nfn plain(x) { return ((x + 1).sum(0) * 3, x * 2) }",
               "print(agree(plain, [[0, 5], [5, 0]]), agree(x => plain(x.t()), [[40, 50]]))",
               "print(agree(both_ways, [[70, 40], [4100, 3]]))",
               "print(agree(of_each, [[3, 50, 20], [2, 4100, 2]]))"});
        }) == "true\ntrue true\ntrue\ntrue\n");
}

TEST_CASE("columns of one block end in the launch that reduces them", "[cuda]") {
  const std::string text = in_child(fakes(), [] {
    return printed_for({"@jit\nfn f(x) { return (x * 2).sum(0) + 1 }", ":cuda f(ones(6, 5))"});
  });
  CHECK(text.find("if (job.blocks == 1)") != std::string::npos);
  CHECK(text.find("column0 = fold_down<SumOf>") != std::string::npos);
}

TEST_CASE("an element that is refused on the way down is told", "[cuda]") {
  CHECK(in_child(fakes(), [] {
          return printed_for({"@jit\nfn f(x, y) { return ((x // y) * 2).sum(0) }",
                              "x = ones(40, 3).int().cuda()", "f(x, x);", "f(x, x - 1)"});
        }).find("ValueError: floor_div: division of an integer by zero") != std::string::npos);
}

TEST_CASE("teams of threads have all columns and lanes, whatever the sizes") {
  for (const std::int64_t sequence : {0, 1, 3, 31, 32, 4096, 4097, 100000}) {
    for (const std::int64_t length : {1, 2, 7, 31, 33, 255, 100000}) {
      for (const std::int64_t multiprocessors : {1, 132}) {
        const cuda::ColumnJob job = jit::column_job(3, sequence, length, multiprocessors);
        INFO(sequence << " rows of " << length);
        CHECK(job.across * job.down <= 256);
        CHECK(256 % (job.across * job.down) == 0);
        CHECK(job.across * job.tiles >= length);
        CHECK((job.across == 1 || job.across < 2 * length));
        CHECK(job.down * job.each >= std::min<std::int64_t>(sequence, kReductionLanes));
        CHECK(job.each <= cuda::kMostLanesOfThread);
        CHECK(job.units == 3 * job.blocks * job.tiles);
      }
    }
  }
}

}  // namespace kiln::compiled_columns_test
