// Whether it pays to compile what became hot by itself, with times that the test makes up.
#include <catch2/catch.hpp>

#include "interpreter/vm/worth.h"

using namespace kiln::interp::capture;
using namespace std::chrono_literals;

namespace {

// What a place does whose iterations take so long either way, until the trial is over; slow iterations come
// now and then.
Trial tried(Clock::duration compiled, Clock::duration interpreted, Clock::duration growth = 0us) {
  Trial trial;
  Clock::time_point now{1s};
  Clock::duration more = 0us;
  for (int iteration = 0; iteration < 1000 && !trial.is_over(); ++iteration) {
    trial.arrive(now);
    if (trial.is_over()) break;
    more += growth;
    const bool is_slow = growth == 0us && iteration % 5 == 4;  // somebody else had the processor
    if (trial.is_interpreters()) {
      trial.done_by_interpreter();
      now += interpreted + more + (is_slow ? 5ms : 0ms);
    } else {
      trial.done_by_entry(1);
      now += compiled + more;
    }
  }
  REQUIRE(trial.is_over());
  return trial;
}

}  // namespace

TEST_CASE("an entry that is faster than the interpreter is kept") {
  CHECK(tried(5us, 20us).verdict().empty());
  CHECK(tried(19us, 20us).verdict().empty());
}

TEST_CASE("an entry that is slower than the interpreter is given up, with the times of both") {
  CHECK(tried(20us, 10us).verdict() ==
        "it took 2.00 times as long compiled (20 µs, in the interpreter 10 µs)");
  CHECK(tried(3ms, 2ms).verdict() == "it took 1.50 times as long compiled (3 ms, in the interpreter 2 ms)");
}

TEST_CASE("iterations that grow favour neither") {
  CHECK(tried(10us, 11us, 1us).verdict().empty());
  CHECK_FALSE(tried(11us, 10us, 1us).verdict().empty());
}

TEST_CASE("an entry of an unrolled loop is compared by the iteration") {
  Trial trial;
  Clock::time_point now{1s};
  while (!trial.is_over()) {
    trial.arrive(now);
    if (trial.is_over()) break;
    const bool is_interpreters = trial.is_interpreters();
    is_interpreters ? trial.done_by_interpreter() : trial.done_by_entry(8);
    now += is_interpreters ? 10us : 40us;
  }
  CHECK(trial.verdict().empty());
}

TEST_CASE("captures take a share of the time, and what was spent counts") {
  const Clock::time_point began{1s};
  CaptureBudget budget(0.04, began);
  CHECK_FALSE(budget.allows(false, began + 10ms));  // a plain one is taken for 1 ms
  CHECK(budget.allows(false, began + 30ms));
  CHECK_FALSE(budget.allows(true, began + 30ms));  // one with symbols for 20 ms
  CHECK(budget.allows(true, began + 1s));
  budget.spend(40ms);
  CHECK_FALSE(budget.allows(false, began + 1s));
  CHECK(budget.allows(false, began + 2s));
  CHECK(CaptureBudget(0, began).allows(true, began));  // no limit
}
