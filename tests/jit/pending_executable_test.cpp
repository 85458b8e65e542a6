// What is made behind the caller: waited for once, made again after an interrupt, and left behind by Ctrl-C
// alone.
#include "jit/runtime/pending_executable.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "jit/graph/text.h"
#include "tensor/device.h"
#include "tensor/parallel.h"
#include "tests/tensor/tensors.h"

namespace kiln::pending_executable_test {

using namespace kiln::jit;

namespace {

std::shared_ptr<const Executable> doubling() {
  return Executable::make(
      parse_graph("graph functional f(%x: f32[2]) {\n"
                  "  %y = mul(%x, 2.0) : f32[2]\n"
                  "  return %y\n"
                  "}\n"));
}

}  // namespace

TEST_CASE("an executable is made behind the caller, once, and all who ask get the same", "[jit][pending]") {
  std::atomic<int> times{0};
  std::thread::id made_by;
  const PendingExecutable pending([&] {
    ++times;
    made_by = std::this_thread::get_id();
    return doubling();
  });
  std::vector<const Executable*> got(4);
  std::vector<std::thread> threads;
  for (const Executable*& each : got) threads.emplace_back([&] { each = &pending.get(); });
  for (std::thread& each : threads) each.join();
  for (const Executable* const each : got) CHECK(each == &pending.get());
  CHECK(times == 1);
  CHECK(made_by != std::this_thread::get_id());
  const Tensor x = kiln::testing::make({2}, DType::F32, [](std::int64_t) { return 3.0; });
  CHECK(pending.get().run({&x, 1})[0].data<float>()[1] == 6.0F);
}

TEST_CASE("what making throws is thrown to who asks", "[jit][pending]") {
  const PendingExecutable pending(
      []() -> std::shared_ptr<const Executable> { throw OpError(ErrorKind::Capture, "no such graph"); });
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(pending.get(), "no such graph");
}

TEST_CASE("making that was interrupted is done by the next to ask", "[jit][pending]") {
  std::atomic<int> times{0};
  const PendingExecutable pending([&] {
    if (++times == 1) throw OpError(ErrorKind::Interrupted, "interrupted");
    return doubling();
  });
  CHECK(pending.get().graph().nodes.size() == 1);
  CHECK(times == 2);
}

TEST_CASE("who waits can be interrupted, and may ask again", "[jit][pending]") {
  std::atomic<bool> may_go{false};
  const PendingExecutable pending([&] {
    may_go.wait(false);
    return doubling();
  });
  interrupt_requested = true;
  CHECK_THROWS_WITH(pending.get(), kInterrupted);
  interrupt_requested = false;
  may_go = true;
  may_go.notify_all();
  CHECK(pending.get().graph().nodes.size() == 1);
}

TEST_CASE("the last owner waits for what is being made", "[jit][pending]") {
  std::atomic<bool> done{false};
  {
    const PendingExecutable pending([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
      return doubling();
    });
  }
  CHECK(done);
}

TEST_CASE("after Ctrl-C the last owner does not wait", "[jit][pending]") {
  const auto may_go = std::make_shared<std::atomic<bool>>(false);
  {
    const PendingExecutable pending([may_go] {
      may_go->wait(false);
      return doubling();
    });
    interrupt_requested = true;
  }
  interrupt_requested = false;
  CHECK(detached_calls_go_on());
  *may_go = true;
  may_go->notify_all();
  while (detached_calls_go_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_CASE("new tensors lie on the caller's device behind it, too", "[jit][pending]") {
  Device seen{Device::Kind::Cuda, 7};
  const PendingExecutable pending([&] {
    seen = default_device();
    return doubling();
  });
  pending.get();
  CHECK(seen == default_device());
}

}  // namespace kiln::pending_executable_test
