// Collectives over ranks that are threads: values, derivatives against differences of what all ranks compute
// together, batches, and the halves of allreduce.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tensor/autograd.h"
#include "tensor/core_ops.h"
#include "tensor/integers.h"
#include "tensor/tape/recompute.h"
#include "tests/tensor/collective_calls.h"
#include "tests/tensor/sample_parts.h"
#include "tests/tensor/thread_ranks.h"

namespace kiln::collective_test {

using namespace kiln::testing;

namespace {

using Call = CollectiveCall;

// The first result on each rank.
std::vector<Tensor> results(const Call& call) {
  std::vector<Tensor> found(call.x.size());
  ThreadRanks ranks(static_cast<int>(call.x.size()));
  ranks.run([&](int rank) { found[as_index(rank)] = call.run(rank); });
  return found;
}

// What all ranks' results come to with their weights.
long double together(const Call& call) {
  const std::vector<Tensor> y = results(call);
  long double sum = 0;
  for (std::size_t r = 0; r < y.size(); ++r)
    sum += element(ops::sum(y[r] * weights_of(y[r], static_cast<int>(r))), 0);
  return sum;
}

long double slope(Call call, std::size_t rank, std::int64_t place) {
  constexpr double kStep = 1e-6;
  const Tensor x = call.x[rank];
  const auto moved = [&](double step) {
    call.x[rank] = ops::clone(x);
    set_element(call.x[rank], place, element(x, place) + step);
    return together(call);
  };
  return (moved(kStep) - moved(-kStep)) / (2 * kStep);
}

}  // namespace

TEST_CASE("gradients go to the ranks that they belong to", "[collective]") {
  for (const int count : {2, 3}) {
    for (const Call& call : collective_calls(count)) {
      std::vector<Tensor> gradients(as_index(count));
      {
        ThreadRanks ranks(count);
        ranks.run([&](int rank) { gradients[as_index(rank)] = call.gradient(rank); });
      }
      for (int rank = 0; rank < count; ++rank) {
        REQUIRE(gradients[as_index(rank)].sizes() == call.x[as_index(rank)].sizes());
        for (std::int64_t i = 0; i < call.x[as_index(rank)].numel(); ++i) {
          INFO(call.op << " on " << count << " ranks: element " << i << " of rank " << rank);
          CHECK(static_cast<double>(element(gradients[as_index(rank)], i)) ==
                Approx(static_cast<double>(slope(call, as_index(rank), i))).margin(1e-6));
        }
      }
    }
  }
}

TEST_CASE("tangents come from all ranks", "[collective]") {
  constexpr int kRanks = 3;
  constexpr double kStep = 1e-6;
  for (const Call& call : collective_calls(kRanks)) {
    std::vector<Tensor> tangents, found(kRanks);
    for (int rank = 0; rank < kRanks; ++rank)
      tangents.push_back(real(call.x[as_index(rank)].sizes(), 70 + rank));
    const std::vector<Tensor> y = results(call);
    {
      ThreadRanks ranks(kRanks);
      ranks.run([&](int rank) {
        const std::vector<Tensor> inputs{call.x[as_index(rank)], {}}, outputs{y[as_index(rank)], {}},
            given{tangents[as_index(rank)], {}};
        const Attrs attrs = call.attrs_of_rank(rank);
        const std::size_t count = as_index(op_named(call.op).signature.inputs);
        found[as_index(rank)] =
            op_named(call.op).jvp.fn({op_named(call.op), attrs, std::span(inputs).first(count), outputs,
                                      std::span(given).first(count)})[0];
      });
    }
    Call up = call, down = call;
    for (std::size_t r = 0; r < kRanks; ++r) {
      up.x[r] = call.x[r] + tangents[r] * kStep;
      down.x[r] = call.x[r] - tangents[r] * kStep;
    }
    const std::vector<Tensor> high = results(up), low = results(down);
    for (std::size_t r = 0; r < kRanks; ++r) {
      INFO(call.op << ", rank " << r);
      REQUIRE(found[r].sizes() == y[r].sizes());
      for (std::int64_t i = 0; i < y[r].numel(); ++i)
        CHECK(static_cast<double>(element(found[r], i)) ==
              Approx(static_cast<double>((element(high[r], i) - element(low[r], i)) / (2 * kStep)))
                  .margin(1e-6));
    }
  }
}

TEST_CASE("of equal extrema the first rank has the gradient, also of nan", "[collective]") {
  ThreadRanks ranks(3);
  ranks.run([&](int rank) {
    const Tensor x = make({3}, DType::F32, [&](std::int64_t i) {
      return i == 0 ? 1.0 : i == 1 ? std::min(rank, 1) : rank > 0 ? NAN : 0.0;
    });
    const Tensor here = kiln::bind(op_named("extremal_here"), std::vector<Tensor>{x, {}},
                                   Attrs(op_named("extremal_here")))[0];
    CHECK(element(here, 0) == (rank == 0 ? 1 : 0));
    CHECK(element(here, 1) == (rank == 1 ? 1 : 0));
  });
}

TEST_CASE("the halves of allreduce give what allreduce gives, under the same names", "[collective]") {
  ThreadRanks ranks(2);
  ranks.run([&](int rank) {
    const Op &start = core_ops().allreduce_start, &wait = core_ops().allreduce_wait;
    const Tensor a = real({2, 3}, rank), b = real({}, 5 + rank);
    const std::vector<Tensor> both{ops::transpose(a, 0, 1), b};
    Tensors operands =
        kiln::bind(start, both, attrs_of(start, {{"op", text("sum")}, {"names", text("a\nb")}}));
    // What was begun has the elements of then.
    operands.append(both.begin(), both.end());
    const Tensor before = ops::clone(a);
    ops::fill_(a, Tensor::number(0.0));
    const Tensors reduced = kiln::bind(wait, operands, Attrs(wait));
    const auto whole = [&](const Tensor& x, const char* name) {
      return kiln::bind(op_named("allreduce"), {&x, 1},
                        attrs_of(op_named("allreduce"), {{"op", text("sum")}, {"name", text(name)}}))[0];
    };
    CHECK(same_bits(reduced[0], whole(ops::clone(ops::transpose(before, 0, 1)), "a")));
    CHECK(same_bits(reduced[1], whole(b, "b")));
  });
  CHECK(ranks.submitted(0) == std::vector<std::string>{"a b", "a", "b"});
}

TEST_CASE("gradients of collectives go by names of their own", "[collective]") {
  ThreadRanks ranks(2);
  ranks.run([&](int rank) {
    const Op& op = op_named("allreduce");
    const Tensor x = real({2}, rank);
    set_requires_grad(x, true);
    const Tensor named = kiln::bind(op, {&x, 1}, attrs_of(op, {{"name", text("x")}}))[0];
    const Tensor placed = kiln::bind(op, {&x, 1}, attrs_of(op, {{"place", text("f.kiln:2:3")}}))[0];
    grads({ops::sum(named * placed)}, {x}, {}, false, false, true);
  });
  const std::vector<std::string> submitted = ranks.submitted(0);
  REQUIRE(submitted.size() == 4);
  CHECK(submitted[0] == "x");
  CHECK(submitted[1] == "f.kiln:2:3");
  CHECK(std::set<std::string>{submitted[2], submitted[3]} ==
        std::set<std::string>{"x.grad", "f.kiln:2:3 (gradient)"});
  CHECK(ranks.submitted(1) == submitted);
}

TEST_CASE("a checkpoint computes again, and asks other ranks once", "[collective]") {
  std::vector<Tensor> plain(2), kept(2);
  for (const bool checkpointed : {false, true}) {
    ThreadRanks ranks(2);
    ranks.run([&](int rank) {
      const Op& op = op_named("allreduce");
      const Tensor x = real({3}, rank);
      set_requires_grad(x, true);
      const Ref<tape::Recompute> recompute(new tape::Recompute);
      std::optional<tape::Recompute::Scope> scope;
      if (checkpointed) scope.emplace(*recompute);
      const Tensor all = ops::exp(x);
      const Tensor reduced =
          kiln::bind(op, {&all, 1}, attrs_of(op, {{"op", text("max")}, {"name", text("a")}}))[0];
      const Tensor y = ops::sin(reduced) * x;
      // Written in place it is a step of its own.
      kiln::bind_inplace(op, {&y, 1}, attrs_of(op, {{"name", text("y")}}));
      const Tensor total = ops::sum(ops::sin(y));
      scope.reset();
      (checkpointed ? kept : plain)[as_index(rank)] = grads({total}, {x}, {}, false, false, true)[0];
    });
    const std::vector<std::string> submitted = ranks.submitted(0);
    CHECK(std::count(submitted.begin(), submitted.end(), "a") == 1);
    CHECK(std::count(submitted.begin(), submitted.end(), "y") == 1);
    CHECK(std::count(submitted.begin(), submitted.end(), "a.grad") > 0);
  }
  for (std::size_t r = 0; r < 2; ++r) CHECK(same_bits(plain[r], kept[r]));
}

TEST_CASE("what has no derivative over ranks says so", "[collective]") {
  for (const char* word : {"product", "adasum"}) {
    const Tensor x = real({2}, 1);
    set_requires_grad(x, true);
    const Tensor y =
        kiln::bind(op_named("allreduce"), {&x, 1}, attrs_of(op_named("allreduce"), {{"op", text(word)}}))[0];
    CHECK_THROWS_AS(grads({ops::sum(y)}, {x}, {}, false, false, true), OpError);
  }
}

TEST_CASE("a name of two lines is refused", "[collective]") {
  const Tensor x = real({2}, 1);
  try {
    kiln::bind(op_named("allreduce"), {&x, 1}, attrs_of(op_named("allreduce"), {{"name", text("a\nb")}}));
    FAIL();
  } catch (const OpError& error) {
    CHECK(error.message() == "allreduce: 2 names for 1 tensor");
  }
}

}  // namespace kiln::collective_test
