// Calls that are recorded over symbols: what ops, views and the tape make of them, and what they leave
// behind.
#include "tensor/symbolic_run.h"

#include <catch2/catch.hpp>

#include "gradcheck.h"
#include "tensor/autograd.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::symbolic_run_test {

using namespace kiln::gradients;
using Values = std::vector<double>;

namespace {

// Four rows of three, of which there are n in the run.
Tensor rows(SymbolicRun& run) {
  const Tensor x = ops::to(ops::reshape(ops::arange(0, 12), Dims{4, 3}), DType::F32);
  give_sizes(x, {run.scope().add("n", 4), 3});
  return x;
}

bool are_ints(const Tensor& x) { return !has_symbols(x.layout()) && x.numel().is_int(); }

}  // namespace

TEST_CASE("ops over symbols give the elements of the call and the sizes of the rule", "[symbolic_run]") {
  Tensor sum, view, moved, scaled;
  {
    SymbolicRun run;
    const Tensor x = rows(run);
    const Dim n = x.size(0);
    sum = x + x;
    view = ops::slice(sum, 0, 1, n);
    moved = ops::transpose(sum, 0, 1) + 1.0;
    scaled = ops::sum(sum, Dims{0}) / Tensor::count(n);
    CHECK(text_of(sum.sizes()) == "[n, 3]");
    CHECK(text_of(view.sizes()) == "[n - 1, 3]");
    CHECK(text_of(moved.sizes()) == "[3, n]");
    CHECK(run.scope().guards().empty());
  }
  CHECK(values(ops::slice(sum, 0, 0, 1)) == Values{0, 2, 4});
  CHECK(values(view) == Values{6, 8, 10, 12, 14, 16, 18, 20, 22});
  CHECK(values(scaled) == Values{9, 11, 13});
  CHECK(moved.sizes() == Dims{3, 4});
  for (const Tensor& each : {sum, view, moved, scaled}) CHECK(are_ints(each));
}

TEST_CASE("what needs an int asks for it", "[symbolic_run]") {
  SymbolicRun run;
  const Tensor x = rows(run);
  const std::int64_t n = x.size(0);
  CHECK(n == 4);
  REQUIRE(run.scope().guards().size() == 1);
  CHECK(to_string(run.scope().guards()[0]) == "n == 4");
}

TEST_CASE("reading elements over symbols reads those of the call", "[symbolic_run]") {
  SymbolicRun run;
  const Tensor x = rows(run);
  CHECK(ops::sum(x).item_float() == 66);
  const Tensor transposed = ops::transpose(x, 0, 1);
  CHECK(HostView(transposed, DType::F64).as<double>()[1] == 3);
  CHECK(Tensor::symbol(x.size(0)).item_float() == 4);
}

TEST_CASE("a history that outlives the run has ints", "[symbolic_run]") {
  const Tensor w = variable({1, 2, 3});
  Tensor loss, written;
  {
    SymbolicRun run;
    const Tensor x = rows(run);
    written = ops::cumsum(x * w, 0) * 2.0;
    ops::add_(ops::slice(written, 0, 1, x.size(0)), w);
    loss = ops::sum(written) / Tensor::count(x.size(0));
  }
  backward(loss);
  CHECK(grad_of(w).sizes() == Dims{3});
  // Twice the running sums of the columns 0 3 6 9, 1 4 7 10, 2 5 8 11, and one for each of three rows,
  // over 4.
  CHECK(values(grad_of(w)) == Values{15.75, 20.75, 25.75});
  CHECK(are_ints(written));
}

TEST_CASE("runs follow each other", "[symbolic_run]") {
  for (int k = 0; k < 2; ++k) {
    SymbolicRun run;
    const Tensor x = rows(run);
    CHECK(text_of((x * 2.0).sizes()) == "[n, 3]");
    run.settle();
    CHECK(are_ints(x));
  }
  CHECK(SymbolicRun::current() == nullptr);
}

TEST_CASE("sizes that are not those of the tensor are refused", "[symbolic_run]") {
  SymbolicRun run;
  const Dim n = run.scope().add("n", 5);
  CHECK_THROWS_AS(give_sizes(Tensor::empty(Dims{4}, DType::F32), Dims{n}), InternalError);
}

}  // namespace kiln::symbolic_run_test
