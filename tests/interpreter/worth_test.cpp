// Whether it pays to compile what became hot by itself, with times that the test makes up.
#include <catch2/catch.hpp>

#include "interpreter/vm/worth.h"

namespace kiln::worth_test {

using namespace kiln::interp::capture;
using namespace std::chrono_literals;

namespace {

// Both clocks stand at the same time.
Moment moment(Clock::duration since) { return {Clock::time_point{1s} + since, since}; }

// What a place does whose iterations take so long either way, until the trial is over; slow iterations come
// now and then.
Trial tried(Clock::duration compiled, Clock::duration interpreted, Clock::duration growth = 0us) {
  Trial trial;
  Clock::duration now = 0us;
  Clock::duration more = 0us;
  for (int iteration = 0; iteration < 1000 && !trial.is_over(); ++iteration) {
    trial.arrive(moment(now));
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
  Clock::duration now = 0us;
  while (!trial.is_over()) {
    trial.arrive(moment(now));
    if (trial.is_over()) break;
    const bool is_interpreters = trial.is_interpreters();
    is_interpreters ? trial.done_by_interpreter() : trial.done_by_entry(8);
    now += is_interpreters ? 10us : 40us;
  }
  CHECK(trial.verdict().empty());
}

TEST_CASE("a trial is short where one is much faster than the other") {
  const auto turns_of_interpreter = [](Clock::duration compiled, Clock::duration interpreted) {
    Trial trial;
    int turns = 0;
    for (Clock::duration now = 0us; !trial.is_over();) {
      trial.arrive(moment(now));
      if (trial.is_over()) break;
      turns += trial.is_interpreters() ? 1 : 0;
      now += trial.is_interpreters() ? interpreted : compiled;
      trial.is_interpreters() ? trial.done_by_interpreter() : trial.done_by_entry(1);
    }
    CHECK(trial.verdict().empty() == (compiled <= interpreted));
    return turns;
  };
  CHECK(turns_of_interpreter(1us, 50us) == 3);
  CHECK(turns_of_interpreter(10us, 20us) == 14);
  CHECK(turns_of_interpreter(20us, 10us) == 14);
  CHECK(turns_of_interpreter(10us, 11us) == 28);
}

TEST_CASE("an entry is given up only where time that passes and the thread's own work both say so") {
  const auto tried = [](Moment compiled, Moment interpreted) {
    Trial trial;
    for (Moment now = moment(0us); !trial.is_over();) {
      trial.arrive(now);
      if (trial.is_over()) break;
      const Moment& took = trial.is_interpreters() ? interpreted : compiled;
      now = {now.at + took.at.time_since_epoch(), now.worked + took.worked};
      trial.is_interpreters() ? trial.done_by_interpreter() : trial.done_by_entry(1);
    }
    return trial.verdict();
  };
  const auto taking = [](Clock::duration passed, Clock::duration worked) {
    return Moment{Clock::time_point(passed), worked};
  };
  CHECK(tried(taking(90us, 10us), taking(20us, 20us)).empty());  // other programs had the processor
  CHECK(tried(taking(20us, 20us), taking(40us, 5us)).empty());   // most of it is done by other threads
  CHECK(tried(taking(90us, 20us), taking(20us, 10us)) ==
        "it took 2.00 times as long compiled (20 µs, in the interpreter 10 µs)");
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

}  // namespace kiln::worth_test
