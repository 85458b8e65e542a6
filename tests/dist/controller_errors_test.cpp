// What ranks do not agree on is one error on all of them; what cannot go on says so.
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>

#include "tests/dist/controllers.h"

namespace kiln::controller_errors_test {

using dist::Controller;
using kiln::testing::allreduce_of;
using kiln::testing::error_of;
using kiln::testing::on_controllers;
using kiln::testing::tensor_of;
using kiln::testing::values_of;

namespace {

// The errors of what the ranks run, which all are the same.
std::string shared_error(int n, const std::function<void(Controller&, int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(n));
  on_controllers(n, [&](Controller& ranks, int rank) {
    errors[static_cast<std::size_t>(rank)] = error_of([&] { body(ranks, rank); });
    // The job goes on.
    EXPECT(values_of(ranks.run(allreduce_of(tensor_of({1}, {1}), "after"))[0]) ==
           std::vector<double>{double(n)});
  });
  for (const std::string& error : errors) CHECK(error == errors.front());
  return errors.front();
}

}  // namespace

TEST_CASE("what ranks ask for differently is the same error on all", "[controller]") {
  CHECK(shared_error(3,
                     [](Controller& ranks, int rank) {
                       ranks.run(
                           allreduce_of(tensor_of({1, 2, 3}, {3}, rank == 1 ? DType::F64 : DType::F32), "w"));
                     }) ==
        "DTypeError: allreduce `w`: ranks ask for different dtypes: ranks 0 and 2 have f32[3] "
        "(train.kiln:4), rank "
        "1 has f64[3] (train.kiln:4)");
  CHECK(shared_error(2,
                     [](Controller& ranks, int rank) {
                       ranks.run(allreduce_of(tensor_of({1, 2}, rank == 0 ? std::vector<std::int64_t>{2}
                                                                          : std::vector<std::int64_t>{1, 2}),
                                              "w"));
                     }) ==
        "ShapeError: allreduce `w`: ranks ask for different shapes: rank 0 has f32[2] (train.kiln:4), rank 1 "
        "has "
        "f32[1, 2] (train.kiln:4)");
  CHECK(shared_error(2,
                     [](Controller& ranks, int rank) {
                       ranks.run(
                           allreduce_of(tensor_of({1}, {1}), "w", rank == 0 ? ReduceOp::Sum : ReduceOp::Max));
                     }) ==
        "ValueError: allreduce `w`: ranks ask for different operations: rank 0 has Sum (train.kiln:4), rank "
        "1 has "
        "Max (train.kiln:4)");
  CHECK(shared_error(2,
                     [](Controller& ranks, int rank) {
                       Collective from = allreduce_of(tensor_of({1}, {1}), "w");
                       if (rank == 1) from.kind = Collective::Kind::Broadcast;
                       ranks.run(from);
                     }) ==
        "ValueError: allreduce `w`: ranks ask for different collectives: rank 0 has allreduce "
        "(train.kiln:4), rank "
        "1 has broadcast (train.kiln:4)");
  CHECK(shared_error(2,
                     [](Controller& ranks, int rank) {
                       Collective all = allreduce_of(tensor_of({1, 2, 3}, {3}), "w");
                       all.kind = Collective::Kind::AllToAll;
                       if (rank == 0) all.splits = {1, 1};
                       ranks.run(all);
                     }) ==
        "ShapeError: alltoall `w`: rows cannot be cut for 2 ranks: rank 0 has f32[3] with splits [1, 1] "
        "(train.kiln:4), rank 1 has f32[3] without splits (train.kiln:4)");
}

TEST_CASE("an outstanding name cannot be used again", "[controller]") {
  on_controllers(2, [](Controller& ranks, int) {
    const auto ticket =
        ranks.start({allreduce_of(tensor_of({1}, {1}), "w"), allreduce_of(tensor_of({1}, {1}), "v")});
    ranks.wait(ticket);
    EXPECT(error_of([&] {
             ranks.start({allreduce_of(tensor_of({1}, {1}), "w"), allreduce_of(tensor_of({1}, {1}), "w")});
           }) == "ValueError: allreduce `w` (train.kiln:4) is under way already");
    ranks.run(allreduce_of(tensor_of({1}, {1}), "w"));
  });
}

TEST_CASE("ranks that wait for different collectives are told at once", "[controller]") {
  CHECK(shared_error(2,
                     [](Controller& ranks, int rank) {
                       Collective call = allreduce_of(tensor_of({1}, {1}), "");
                       if (rank == 1) call.place = "train.kiln:9";
                       ranks.run(call);
                     }) ==
        "ValueError: no rank can go on: rank 0 waits for allreduce train.kiln:4 (call 1), rank 1 waits for "
        "allreduce train.kiln:9 (call 1)");
}

TEST_CASE("a rank that has ended is missing for ever", "[controller]") {
  on_controllers(3, [](Controller& ranks, int rank) {
    if (rank == 1) return;
    // One of the others may have ended, too, by the time the last of them asks.
    const std::string error = error_of([&] { ranks.run(allreduce_of(tensor_of({1}, {1}), "w")); });
    EXPECT(error.starts_with("ValueError: allreduce `w` (train.kiln:4) waits for rank"));
    EXPECT(error.ends_with("1, which has ended") || error.ends_with("and 1, which have ended") ||
           error.ends_with("1 and 2, which have ended"));
  });
}

TEST_CASE("a stall names who is missing, and what it does", "[controller]") {
  const bool is_known = GENERATE(false, true);
  Controller::Options options;
  options.settings.stall = std::chrono::milliseconds(30);
  if (is_known) options.activity = [] { return "compiles `f`"; };
  std::mutex mutex;
  std::string told;
  options.warn = [&](const std::string& sentence) {
    const std::lock_guard lock(mutex);
    if (sentence.starts_with("allreduce `second`")) told = sentence;
  };
  const auto is_told = [&] {
    const std::lock_guard lock(mutex);
    return !told.empty();
  };
  on_controllers(2, options, [&](Controller& ranks, int rank) {
    ranks.run(allreduce_of(tensor_of({1}, {1}), "first"));
    while (rank == 1 && !is_told()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ranks.run(allreduce_of(tensor_of({1}, {1}), "second"));
  });
  CHECK(told.starts_with("allreduce `second` (train.kiln:4) waits for rank 1 since "));
  CHECK(told.ends_with(is_known
                           ? "s: rank 1 compiles `f` and called allreduce `first` (train.kiln:4) before that"
                           : "s: rank 1 runs since it called allreduce `first` (train.kiln:4)"));
}

TEST_CASE("who has joined stands in with what changes nothing", "[controller]") {
  on_controllers(3, [](Controller& ranks, int rank) {
    const auto run = [&](ReduceOp op) {
      return values_of(
          ranks.run(allreduce_of(tensor_of({-double(rank) - 3, double(rank) + 2}, {2}), "w", op))[0]);
    };
    for (int step = 0; step < 2; ++step) {  // the second time the agreement without the rank is made anew
      if (rank != 1) {
        EXPECT(run(ReduceOp::Sum) == std::vector<double>{-8, 6});
        EXPECT(run(ReduceOp::Max) == std::vector<double>{-3, 4});
        EXPECT(run(ReduceOp::Min) == std::vector<double>{-5, 2});
        EXPECT(run(ReduceOp::Product) == std::vector<double>{15, 8});
        Collective from = allreduce_of(tensor_of({1}, {1}), "b");
        from.kind = Collective::Kind::Broadcast;
        EXPECT(
            error_of([&] { ranks.run(from); }) ==
            "ValueError: broadcast `b` (train.kiln:4): rank 1 has joined, and only allreduce goes on then");
      }
      const int last = ranks.join("train.kiln:8");
      EXPECT((last == 0 || last == 2));
    }
  });
}

TEST_CASE("process sets are made together, and have ranks of their own", "[controller]") {
  on_controllers(4, [](Controller& ranks, int rank) {
    const int odd = ranks.add_process_set({1, 3}, "train.kiln:2");
    const int low = ranks.add_process_set({0, 1, 2}, "train.kiln:3");
    EXPECT(odd == 1);
    EXPECT(low == 2);
    EXPECT(ranks.size(odd) == 2);
    const auto sum_in = [&](int set) {
      Collective call = allreduce_of(tensor_of({double(rank)}, {1}), "w");
      call.process_set = set;
      return values_of(ranks.run(call)[0]);
    };
    // Ranks that are in both sets meet the others in any order.
    if (rank == 1) EXPECT(sum_in(low) == std::vector<double>{3});
    if (rank % 2 == 1) EXPECT(sum_in(odd) == std::vector<double>{4});
    if (rank == 0 || rank == 2) EXPECT(sum_in(low) == std::vector<double>{3});
    if (rank % 2 == 0)
      EXPECT(error_of([&] { sum_in(odd); }) ==
             "ValueError: rank " + std::to_string(rank) +
                 " is not a member of process set 1, whose ranks are [1, 3]");
    if (rank == 3) EXPECT(ranks.rank(odd) == 1);
    ranks.remove_process_set(odd, "train.kiln:9");
    EXPECT(error_of([&] { sum_in(odd); }) == "ValueError: there is no process set 1");
    ranks.barrier(0, "train.kiln:10");
  });
}

TEST_CASE("a lost rank is an error of those that are left", "[controller]") {
  auto transports = dist::make_thread_transports(2);
  Controller zero(std::move(transports[0]), {});
  auto one = std::make_unique<Controller>(std::move(transports[1]), Controller::Options{});
  const auto ticket = zero.start({allreduce_of(tensor_of({1}, {1}), "w")});
  one.reset();
  CHECK(error_of([&] { zero.wait(ticket); }) == "RanksLost: rank 1 closed its link");
  CHECK(error_of([&] { zero.start({allreduce_of(tensor_of({1}, {1}), "w")}); }) ==
        "RanksLost: rank 1 closed its link");
}

TEST_CASE("a rank that is lost while others perform with it holds up nobody", "[controller]") {
  const Tensor x = tensor_of(std::vector<double>(200'000, 1.0), {200'000});
  for (int trial = 0; trial < 8; ++trial) {
    auto transports = dist::make_thread_transports(2);
    Controller zero(std::move(transports[0]), {});
    auto one = std::make_unique<Controller>(std::move(transports[1]), Controller::Options{});
    const auto ticket = zero.start({allreduce_of(x, "w")});
    one->start({allreduce_of(x, "w")});
    std::this_thread::sleep_for(std::chrono::microseconds(100 * trial));
    one.reset();
    const std::string error = error_of([&] { zero.wait(ticket); });
    CHECK((error.empty() || error.starts_with("RanksLost: ")));
  }
}

}  // namespace kiln::controller_errors_test
