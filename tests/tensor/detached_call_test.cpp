// Calls on a thread of their own: waited for, or left behind by Ctrl-C with all that they hold.
#include "tensor/detached_call.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tensor/functions.h"
#include "tensor/interrupt.h"
#include "tests/tensor/tensors.h"

namespace kiln::detached_call_test {

namespace {

class Request {
 public:
  Request() { interrupt_requested = true; }
  ~Request() { interrupt_requested = false; }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

void wait_until_none_goes_on() {
  while (detached_calls_go_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("a detached call is waited for, and what it throws is thrown", "[interrupt]") {
  std::thread::id thread;
  run_detached([&] { thread = std::this_thread::get_id(); });
  CHECK(thread != std::this_thread::get_id());
  CHECK_THROWS_WITH(run_detached([] { throw std::runtime_error("no"); }), "no");
  CHECK_FALSE(detached_calls_go_on());
}

TEST_CASE("Ctrl-C leaves a detached call behind, which keeps what it holds until its end", "[interrupt]") {
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  const auto held = std::make_shared<int>(7);
  {
    const Request request;
    CHECK_THROWS_WITH(run_detached([may_end, held] { may_end->wait(false); }), kInterrupted);
  }
  CHECK(detached_calls_go_on());
  CHECK(held.use_count() == 2);
  *may_end = true;
  may_end->notify_all();
  wait_until_none_goes_on();
  CHECK(held.use_count() == 1);
}

TEST_CASE("what is not to be cut waits for a detached call", "[interrupt]") {
  const Request request;
  const HeldInterrupts whole;
  bool done = false;
  run_detached([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
  });
  CHECK(done);
}

TEST_CASE("a call that was waited for in vain is waited for again", "[interrupt]") {
  std::atomic<bool> may_end{false};
  const DetachedCall call([&] { may_end.wait(false); });
  {
    const Request request;
    CHECK_THROWS_WITH(call.wait(), kInterrupted);
  }
  CHECK_FALSE(call.has_ended());
  may_end = true;
  may_end.notify_all();
  call.wait();
  CHECK(call.has_ended());
  CHECK_FALSE(detached_calls_go_on());
}

TEST_CASE("a factorization that was left behind disturbs none after it", "[interrupt][linalg]") {
  const Tensor x =
      testing::make({400, 400}, DType::F32, [](std::int64_t i) { return double(i * 7919 % 1009) / 1009; });
  const Tensor before = testing::call("svdvals", {x})[0];
  {
    const Request request;
    CHECK_THROWS_WITH(testing::call("svdvals", {x}), kInterrupted);
  }
  const Tensor after = testing::call("svdvals", {x})[0];
  for (std::int64_t i = 0; i < 400; ++i) CHECK(before.data<float>()[i] == after.data<float>()[i]);
  wait_until_none_goes_on();
}

}  // namespace kiln::detached_call_test
