// What ranks submit at once has one number once all of them have; ranks that differ meet by names.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/dist/controllers.h"

namespace kiln::schedules_test {

using dist::Clock;
using dist::Controller;
using dist::Coordinator;
using dist::Response;
using kiln::testing::allreduce_of;
using kiln::testing::error_of;
using kiln::testing::on_controllers;
using kiln::testing::tensor_of;
using kiln::testing::values_of;

using Texts = std::vector<std::string>;

namespace {

dist::Signature reduction(DType dtype = DType::F32) {
  dist::Signature signature;
  signature.device = "cpu";
  signature.tensors = {{dtype, {2}}};
  signature.place = "train.kiln:4";
  return signature;
}

// The ranks of a job, and what they were told of schedules.
struct Job {
  explicit Job(int n, dist::Settings settings = {}) : coordinator(n, settings) {}

  void submit_by_name(int rank, const std::string& name) {
    coordinator.submit(rank, {name, 0}, reduction(), now);
  }
  void submit_together(int rank, const Texts& names) {
    coordinator.begin_together(rank);
    for (const std::string& each : names) submit_by_name(rank, each);
    coordinator.end_together(rank);
  }
  std::uint64_t agree_on(const Texts& names, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) submit_together(rank, names);
    const std::vector<Response> answers = coordinator.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].performed.size() == names.size());
    CHECK(answers[0].ranks.size() == static_cast<std::size_t>(ranks));
    return answers[0].schedule;
  }
  // How many collectives are performed by names, or fail; -1: a schedule is.
  std::vector<int> performed() {
    std::vector<int> found;
    for (const Response& each : coordinator.take())
      found.push_back(each.schedule != 0 ? -1 : static_cast<int>(each.performed.size()));
    return found;
  }

  Coordinator coordinator;
  Clock::time_point now = Clock::now();
};

}  // namespace

TEST_CASE("what all ranks submit at once has a number from then on", "[controller][schedules]") {
  Job job(3);
  const std::uint64_t number = job.agree_on({"a", "b", "c"}, 3), other = job.agree_on({"d", "e"}, 3);
  CHECK(number != 0);
  CHECK(other != number);
  for (int round = 0; round < 2; ++round) {
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(job.performed().empty());
      job.coordinator.submit_schedule(rank, number, job.now);
    }
    const std::vector<Response> answers = job.coordinator.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].schedule == number);
    CHECK(answers[0].performed.empty());
  }
}

TEST_CASE("what is not alike, or too large for one buffer, has no number", "[controller][schedules]") {
  Job small(2, {.fusion_bytes = 8});
  for (int rank = 0; rank < 2; ++rank) small.submit_together(rank, {"a", "b"});
  CHECK(small.performed() == std::vector<int>{1, 1});
  Job job(2);
  job.submit_together(0, {"a", "b"});
  job.submit_together(1, {"b", "a"});
  CHECK(job.performed() == std::vector<int>{2});
}

TEST_CASE("ranks that differ from a schedule meet by names", "[controller][schedules]") {
  for (const bool comes_first : {true, false}) {
    Job job(3);
    const std::uint64_t number = job.agree_on({"a", "b", "c"}, 3);
    const auto differ = [&] {
      for (const char* each : {"c", "a", "b"}) job.submit_by_name(1, each);
      job.submit_together(2, {"b", "c"});
    };
    if (comes_first) differ();
    job.coordinator.submit_schedule(0, number, job.now);
    if (!comes_first) differ();
    CHECK(job.performed() == std::vector<int>{2});
    job.submit_by_name(2, "a");
    CHECK(job.performed() == std::vector<int>{1});
  }
}

TEST_CASE("ranks that cut a schedule anew have new numbers, and may go back", "[controller][schedules]") {
  Job job(2);
  const std::uint64_t whole = job.agree_on({"a", "b", "c", "d"}, 2);
  // Rank 0 was compiled anew.
  job.submit_together(0, {"a", "b"});
  job.submit_together(0, {"c", "d"});
  job.coordinator.submit_schedule(1, whole, job.now);
  CHECK(job.performed() == std::vector<int>{4});
  const std::uint64_t first = job.agree_on({"a", "b"}, 2), second = job.agree_on({"c", "d"}, 2);
  job.coordinator.submit_schedule(0, first, job.now);
  job.coordinator.submit_schedule(1, whole, job.now);
  CHECK(job.performed() == std::vector<int>{2});
  job.coordinator.submit_schedule(0, second, job.now);
  CHECK(job.performed() == std::vector<int>{2});
  for (int rank = 0; rank < 2; ++rank) job.coordinator.submit_schedule(rank, whole, job.now);
  CHECK(job.performed() == std::vector<int>{-1});
}

TEST_CASE("what is said of a schedule is said of its names", "[controller][schedules]") {
  Job job(2);
  const std::uint64_t number = job.agree_on({"a", "b"}, 2);
  job.coordinator.submit_schedule(0, number, job.now);
  CHECK(job.performed().empty());
  const Texts stalls = job.coordinator.take_stalls(job.now + std::chrono::seconds(6));
  REQUIRE(stalls.size() == 2);
  CHECK(stalls[0].starts_with("allreduce `a` (train.kiln:4) waits for rank 1 since 6 s"));
  // Rank 1 comes after all.
  job.coordinator.submit_schedule(1, number, job.now);
  CHECK(job.performed() == std::vector<int>{-1});
  // Rank 1 has ended.
  job.coordinator.submit_schedule(0, number, job.now);
  job.coordinator.leave(1);
  const std::vector<Response> answers = job.coordinator.take();
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].refusal.message == "allreduce `b` (train.kiln:4) waits for rank 1, which has ended");
}

TEST_CASE("ranks in any mix of schedules and names compute the same", "[controller][schedules]") {
  const Texts names{"a", "b", "c", "d", "e"};
  on_controllers(3, [&](Controller& ranks, int rank) {
    std::mt19937 shared(1), own(static_cast<unsigned>(rank));
    for (int round = 0; round < 60; ++round) {
      // For some rounds all ranks cut alike, then each by itself.
      std::mt19937& random = round / 5 % 3 == 0 ? own : shared;
      const std::size_t pieces = round % 5 == 0 || &random == &own ? random() % 5 + 1 : 1;
      std::vector<std::vector<Collective>> parts(pieces);
      std::vector<std::vector<double>> wanted(pieces);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const double value = static_cast<double>(i) + round;
        parts[i % pieces].push_back(allreduce_of(tensor_of({value + rank}, {1}), names[i]));
        wanted[i % pieces].push_back(3 * value + 3);
      }
      std::vector<std::uint64_t> tickets;
      for (auto& part : parts) tickets.push_back(ranks.start(std::move(part)));
      for (std::size_t i = 0; i < pieces; ++i) {
        std::vector<double> found;
        for (const Tensor& each : ranks.wait(tickets[i])) found.push_back(values_of(each)[0]);
        EXPECT(found == wanted[i]);
      }
    }
  });
}

TEST_CASE("a rank that joins stands in for a schedule, and one that asks otherwise fails alone",
          "[controller][schedules]") {
  on_controllers(2, [](Controller& ranks, int rank) {
    const auto both = [&](DType dtype) {
      std::vector<Collective> calls{allreduce_of(tensor_of({1}, {1}), "a"),
                                    allreduce_of(tensor_of({2}, {1}, dtype), "b")};
      return ranks.start(std::move(calls));
    };
    for (int round = 0; round < 3; ++round) EXPECT(values_of(ranks.wait(both(DType::F32))[1])[0] == 4);
    const auto ticket = both(rank == 0 ? DType::F32 : DType::F64);
    EXPECT(error_of([&] { ranks.wait(ticket); }).starts_with("DTypeError: allreduce `b`"));
    for (int round = 0; round < 2; ++round) EXPECT(values_of(ranks.wait(both(DType::F32))[0])[0] == 2);
    if (rank == 0) {
      const Tensors sums = ranks.wait(both(DType::F32));
      EXPECT(values_of(sums[0])[0] == 1);
      EXPECT(values_of(sums[1])[0] == 2);
    }
    EXPECT(ranks.join("train.kiln:9") == 0);
  });
}

TEST_CASE("a rank that has not told yet that it goes on is not one that waits for ever", "[controller]") {
  Job job(2);
  const dist::Name name{"a", 0};
  for (const int rank : {0, 1}) {
    job.submit_by_name(rank, "a");
    job.coordinator.set_waiting(rank, name);
  }
  CHECK(job.performed() == std::vector<int>{1});
  job.submit_by_name(0, "a");
  job.coordinator.set_waiting(0, name);
  CHECK(job.performed().empty());
  job.submit_by_name(1, "a");
  CHECK(job.performed() == std::vector<int>{1});
}

}  // namespace kiln::schedules_test
