// The threads kernels run on: every piece once, whatever the number of threads, callers and errors.
#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tests/tensor/threads.h"

namespace kiln::parallel_test {

using kiln::testing::Threads;

namespace {

// How often each of `count` places is visited.
std::vector<int> visits(std::int64_t count, std::int64_t grain) {
  std::vector<int> seen(static_cast<std::size_t>(count));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  return seen;
}

}  // namespace

TEST_CASE("each place is visited once on any number of threads", "[parallel]") {
  for (const int count : {1, 2, 3, 8}) {
    const Threads threads(count);
    for (const std::int64_t places : {0, 1, 7, 1000, 12345}) {
      for (int again = 0; again < 20; ++again) {
        CHECK(visits(places, 10) == std::vector<int>(static_cast<std::size_t>(places), 1));
      }
    }
  }
}

TEST_CASE("several threads run, and a loop within a loop stays in its thread", "[parallel]") {
  const Threads threads(4);
  std::atomic<int> inside{0}, most{0};
  std::atomic<bool> moved{false};
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    const auto here = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t, std::int64_t) {
      if (std::this_thread::get_id() != here) moved = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --inside;
  });
  CHECK(most >= 2);
  CHECK(most <= 4);
  CHECK_FALSE(moved);
}

TEST_CASE("an error of a piece reaches the caller, and the next loop runs", "[parallel]") {
  const Threads threads(4);
  for (int again = 0; again < 50; ++again) {
    const auto fails = [](std::int64_t begin, std::int64_t) {
      if (begin >= 500) throw OpError(ErrorKind::Value, "no");
    };
    CHECK_THROWS_AS(parallel_for(1000, 1, fails), OpError);
    CHECK(visits(1000, 1) == std::vector<int>(1000, 1));
  }
}

TEST_CASE("callers in several threads do not disturb each other", "[parallel]") {
  const Threads threads(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int again = 0; again < 200; ++again) {
        if (visits(500, 3) != std::vector<int>(500, 1)) ++wrong;
      }
    });
  }
  for (std::thread& each : callers) each.join();
  CHECK(wrong == 0);
}

}  // namespace kiln::parallel_test
