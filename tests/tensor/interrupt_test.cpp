// The wish to stop: where it is seen, and what holds it back.
#include "tensor/interrupt.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>

#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/parallel.h"
#include "tests/tensor/threads.h"

namespace kiln::interrupt_test {

using kiln::testing::Threads;

namespace {

// Somebody asks to stop, and it is seen when `places` were passed.
class Request {
 public:
  explicit Request(std::int64_t places = 0) {
    let_interrupt_pass(places);
    interrupt_requested = true;
  }
  ~Request() {
    interrupt_requested = false;
    let_interrupt_pass(0);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

template <class F>
bool is_cut(const F& f) {
  try {
    f();
  } catch (const OpError& error) {
    CHECK(error.kind() == ErrorKind::Interrupted);
    CHECK(error.message() == kInterrupted);
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a request is seen at the next place, or when so many were passed", "[interrupt]") {
  CHECK_FALSE(is_cut(check_interrupt));
  const Request request(3);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(is_cut(check_interrupt));
  CHECK(is_cut(check_interrupt));
}

TEST_CASE("what is held is not cut, by a scope or by a rule", "[interrupt]") {
  const Request request;
  {
    const HeldInterrupts outer;
    {
      const HeldInterrupts inner;
      CHECK_FALSE(is_cut(check_interrupt));
    }
    CHECK_FALSE(is_cut(check_interrupt));
  }
  CHECK(is_cut(check_interrupt));
  bool holds = true;
  const auto asked = [](const void* of) { return *static_cast<const bool*>(of); };
  {
    const InterruptRule rule(asked, &holds);
    CHECK_FALSE(is_cut(check_interrupt));
    holds = false;
    CHECK(is_cut(check_interrupt));
    holds = true;
  }
  CHECK(is_cut(check_interrupt));
}

TEST_CASE("threads go by the holds of whom they work for", "[interrupt]") {
  for (const int threads : {1, 2, 4}) {
    const Threads number(threads);
    std::atomic<std::int64_t> done = 0;
    const auto count = [&] {
      parallel_for(1'000'000, 1000, [&](std::int64_t begin, std::int64_t end) { done += end - begin; });
    };
    const Request request(2);  // one thread has four pieces
    {
      const HeldInterrupts whole;
      CHECK_FALSE(is_cut(count));
    }
    CHECK(done == 1'000'000);
    done = 0;
    CHECK(is_cut(count));
    CHECK(done < 1'000'000);
  }
}

TEST_CASE("a write into memory that is there is whole or not begun", "[interrupt]") {
  constexpr Dim kSize = 1'500'000;
  const std::array<Dim, 1> sizes{kSize};
  for (const int threads : {1, 4}) {
    const Threads number(threads);
    for (int places = 0; places < 8; ++places) {
      const Tensor x = ops::zeros(sizes), one = ops::ones(sizes);
      bool cut = false;
      {
        const Request request(places);
        cut = is_cut([&] { ops::add_(x, one); });
      }
      CHECK(ops::sum(x).item_float() == (cut ? 0 : static_cast<double>(kSize)));
      // What is new may be cut: nobody has it yet.
      const Request request(1);
      CHECK(is_cut([&] { ops::exp(one); }));
    }
  }
}

TEST_CASE("writes to one place are cut in pieces, too", "[interrupt]") {
  constexpr Dim kCount = 4'000'000;
  const std::array<Dim, 1> sizes{kCount}, few{10};
  const Tensor x = ops::zeros(few), ones = ops::ones(sizes), places = ops::zeros(sizes, DType::I64);
  const Threads number(1);
  const Request request(60);
  CHECK(is_cut([&] { ops::scatter_add(x, 0, places, ones); }));
  let_interrupt_pass(40);  // putting the places in order takes a few pieces, the writes sixty
  CHECK(is_cut([&] { ops::index_add(x, 0, places, ones); }));
}

}  // namespace kiln::interrupt_test
