// Streams of the fake driver work while the host goes on, and its memory is watched.
#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <numeric>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_streams_test {

using namespace kiln::cuda;
using kiln::testing::Cuda;
using kiln::testing::stderr_of;
using kiln::testing::Variables;
using kiln::testing::with_cuda;

namespace {

// Waits until the host says so, then writes.
constexpr const char* kWaiting = R"(
extern "C" __global__ void f(volatile int* flag, int* x, int value) {
  while (flag != nullptr && *flag == 0) __nanosleep(100);
  *x = value;
})";

struct Flag {
  explicit Flag(const Cuda& cuda) {
    void* memory = nullptr;
    if (cuda.api.cuMemHostAlloc(&memory, sizeof(int), kHostMapped) == kSuccess)
      value = static_cast<int*>(memory);
    *value = 0;
  }
  void set() { std::atomic_ref(*value).store(1); }
  int* value = nullptr;
};

StreamHandle new_stream(const Cuda& cuda, unsigned flags = kStreamNonBlocking) {
  StreamHandle stream = nullptr;
  return cuda.api.cuStreamCreate(&stream, flags) == kSuccess ? stream : nullptr;
}

}  // namespace

TEST_CASE("a stream works while the host goes on", "[fake_streams]") {
  for (const char* const delays : {"0", "1", "2"}) {
    CHECK(with_cuda({{"KILN_FAKE_DELAYS", delays}}, [](const Cuda& cuda) -> std::string {
            const DriverApi& api = cuda.api;
            const FunctionHandle f = cuda.kernel(kWaiting);
            const StreamHandle a = new_stream(cuda), b = new_stream(cuda);
            Flag flag(cuda);
            EventHandle event = nullptr, never = nullptr;
            KILN_MUST(api.cuEventCreate(&event, 0) == kSuccess && api.cuEventCreate(&never, 0) == kSuccess);
            const Address x = cuda.on_card(std::vector<int>{5}), y = cuda.on_card(std::vector<int>{6});
            void* pinned = nullptr;
            KILN_MUST(api.cuMemHostAlloc(&pinned, sizeof(int), 0) == kSuccess);
            KILN_MUST(cuda.launch(f, {1, 1, 0, a}, flag.value, x, 1) == kSuccess);
            KILN_MUST(api.cuEventRecord(event, a) == kSuccess);
            KILN_MUST(api.cuStreamQuery(a) == kNotReady && api.cuEventQuery(event) == kNotReady);
            KILN_MUST(api.cuEventQuery(never) == kSuccess && api.cuEventSynchronize(never) == kSuccess);
            // The other stream reads what the first one writes, and what is given to it later is free to go.
            KILN_MUST(api.cuStreamWaitEvent(b, event, 0) == kSuccess);
            KILN_MUST(api.cuStreamWaitEvent(b, never, 0) == kSuccess);
            KILN_MUST(api.cuMemcpyDtoDAsync_v2(y, x, sizeof(int), b) == kSuccess);
            KILN_MUST(api.cuMemcpyDtoHAsync_v2(pinned, y, sizeof(int), b) == kSuccess);
            KILN_MUST(api.cuStreamQuery(b) == kNotReady && *static_cast<int*>(pinned) != 1);
            flag.set();
            KILN_MUST(api.cuStreamSynchronize(b) == kSuccess && *static_cast<int*>(pinned) == 1);
            KILN_MUST(api.cuEventQuery(event) == kSuccess && api.cuStreamQuery(a) == kSuccess);
            // A stream that is destroyed still does what it was given.
            KILN_MUST(cuda.launch(f, {1, 1, 0, a}, static_cast<int*>(nullptr), x, 2) == kSuccess);
            KILN_MUST(api.cuEventRecord(event, a) == kSuccess && api.cuStreamDestroy_v2(a) == kSuccess);
            KILN_MUST(api.cuEventSynchronize(event) == kSuccess && cuda.read<int>(x, 1)[0] == 2);
            return "";
          }) == "");
  }
}

TEST_CASE("the default stream keeps step with those that do not refuse it", "[fake_streams]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(kWaiting);
          const StreamHandle blocking = new_stream(cuda, 0), free = new_stream(cuda);
          Flag flag(cuda);
          const Address x = cuda.on_card(std::vector<int>{0});
          KILN_MUST(cuda.api.cuMemsetD32Async(x, 1, 1, blocking) == kSuccess);
          KILN_MUST(cuda.launch(f, {1, 1, 0, blocking}, flag.value, x, 2) == kSuccess);
          KILN_MUST(cuda.api.cuMemsetD32Async(x, 3, 1, nullptr) == kSuccess);
          KILN_MUST(cuda.api.cuMemsetD32Async(x, 4, 1, blocking) == kSuccess);
          KILN_MUST(cuda.api.cuStreamSynchronize(free) == kSuccess);
          KILN_MUST(cuda.api.cuStreamQuery(nullptr) == kNotReady);
          flag.set();
          KILN_MUST(cuda.api.cuCtxSynchronize() == kSuccess && cuda.read<int>(x, 1)[0] == 4);
          return "";
        }) == "");
}

TEST_CASE("plain memory of the host is free when a copy returns, the driver's is not", "[fake_streams]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const DriverApi& api = cuda.api;
          const FunctionHandle f = cuda.kernel(kWaiting);
          const StreamHandle stream = new_stream(cuda);
          Flag flag(cuda);
          const Address x = cuda.on_card(std::vector<int>{0, 0, 0});
          int plain = 7;
          void* pinned = nullptr;
          KILN_MUST(api.cuMemHostAlloc(&pinned, sizeof(int), 0) == kSuccess);
          *static_cast<int*>(pinned) = 7;
          KILN_MUST(cuda.launch(f, {1, 1, 0, stream}, flag.value, x, 2) == kSuccess);
          KILN_MUST(api.cuMemcpyHtoDAsync_v2(x + 4, &plain, sizeof(int), stream) == kSuccess);
          KILN_MUST(api.cuMemcpyHtoDAsync_v2(x + 8, pinned, sizeof(int), stream) == kSuccess);
          plain = *static_cast<int*>(pinned) = 8;
          flag.set();
          int read[3] = {};
          KILN_MUST(api.cuMemcpyDtoHAsync_v2(read, x, sizeof read, stream) == kSuccess);
          KILN_MUST(read[0] == 2 && read[1] == 7 && read[2] == 8);
          return "";
        }) == "");
}

TEST_CASE("an error of a kernel comes with a later call, and nothing is done after it", "[fake_streams]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle trap = cuda.kernel(R"(extern "C" __global__ void f(volatile int* flag) {
  while (*flag == 0) __nanosleep(100);
  __trap();
})");
          const StreamHandle stream = new_stream(cuda), other = new_stream(cuda);
          Flag flag(cuda);
          void* pinned = nullptr;
          KILN_MUST(cuda.api.cuMemHostAlloc(&pinned, sizeof(int), 0) == kSuccess);
          *static_cast<int*>(pinned) = 7;
          const Address x = cuda.on_card(std::vector<int>{5});
          std::string problem;
          stderr_of([&] {
            problem = [&]() -> std::string {
              KILN_MUST(cuda.launch(trap, {1, 1, 0, stream}, flag.value) == kSuccess);
              KILN_MUST(cuda.api.cuMemcpyDtoHAsync_v2(pinned, x, sizeof(int), stream) == kSuccess);
              KILN_MUST(cuda.api.cuStreamQuery(stream) == kNotReady);
              flag.set();
              KILN_MUST(cuda.api.cuStreamSynchronize(stream) == kLaunchFailed);
              KILN_MUST(cuda.api.cuStreamSynchronize(other) == kLaunchFailed);
              KILN_MUST(*static_cast<int*>(pinned) == 7);
              return "";
            }();
          });
          return problem;
        }) == "");
}

TEST_CASE("the host cannot touch memory of a card", "[fake_streams]") {
  const auto touch = [](const Variables& variables, bool writes) {
    return with_cuda(variables, [&](const Cuda& cuda) -> std::string {
      const FunctionHandle f = cuda.kernel(kWaiting);
      const Address x = cuda.on_card(std::vector<int>{5});
      KILN_MUST(cuda.run(f, {}, static_cast<int*>(nullptr), x, 6) == kSuccess);
      auto* const pointer = reinterpret_cast<volatile int*>(x);
      if (writes) *pointer = 1;
      return std::to_string(*pointer);
    });
  };
  CHECK(touch({}, false) == "signal 11");
  CHECK(touch({}, true) == "signal 11");
  CHECK(touch({{"KILN_FAKE_GUARD", "pages"}}, false) == "signal 11");
  CHECK(touch({{"KILN_FAKE_GUARD", "none"}}, true) == "1");
}

TEST_CASE("memory of a card is undefined at first and after its end", "[fake_streams]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const DriverApi& api = cuda.api;
          const StreamHandle stream = new_stream(cuda);
          Address x = 0;
          KILN_MUST(api.cuMemAllocAsync(&x, 8, stream) == kSuccess);
          KILN_MUST(cuda.read<unsigned>(x, 2) == std::vector<unsigned>(2, 0xa5a5a5a5U));
          // What was given before still sees it as it was, and what is given later sees that it is no more.
          const FunctionHandle f = cuda.kernel(kWaiting);
          const FunctionHandle copy =
              cuda.kernel(R"(extern "C" __global__ void f(const int* x, int* y) { *y = *x; })");
          const Address y = cuda.on_card(std::vector<int>(2));
          Flag flag(cuda);
          KILN_MUST(api.cuMemsetD32Async(x, 5, 1, stream) == kSuccess);
          KILN_MUST(cuda.launch(f, {1, 1, 0, stream}, flag.value, y + 4, 1) == kSuccess);
          KILN_MUST(cuda.launch(copy, {1, 1, 0, stream}, x, y) == kSuccess);
          KILN_MUST(api.cuMemFreeAsync(x, stream) == kSuccess);
          KILN_MUST(cuda.launch(copy, {1, 1, 0, stream}, x, y + 4) == kSuccess);
          KILN_MUST(api.cuMemFreeAsync(x, stream) == kInvalidValue);
          KILN_MUST(api.cuMemsetD32Async(x, 5, 1, stream) == kInvalidValue);
          flag.set();
          KILN_MUST(cuda.read<unsigned>(y, 2) == std::vector<unsigned>{5, 0xddddddddU});
          return "";
        }) == "");
}

TEST_CASE("what is written around a block or after its end is told", "[fake_streams]") {
  const auto told = [](const std::string& statement, const Variables& variables = {}) {
    return with_cuda(variables, [&](const Cuda& cuda) -> std::string {
      const FunctionHandle f =
          cuda.kernel("extern \"C\" __global__ void f(char* x, char* freed) { " + statement + " }");
      const Address x = cuda.on_card(std::vector<char>(100)), freed = cuda.on_card(std::vector<char>(200)),
                    more = cuda.on_card(std::vector<char>(4000));
      Result result = kSuccess;
      const std::string text = stderr_of([&] {
        cuda.api.cuMemFree_v2(freed);
        result = cuda.run(f, {}, x, freed);
        if (result == kSuccess) result = cuda.api.cuMemFree_v2(more);
      });
      const std::size_t at = text.find(" at 0x");
      const std::size_t end = text.find_first_of(" ,\n", at + 4);
      return (at < text.size() ? text.substr(0, at) + text.substr(end) : text) + std::to_string(result);
    });
  };
  CHECK(told("x[99] = 1;") == "0");
  CHECK(told("x[100] = 1;") ==
        "fake CUDA: memory behind the block of 100 bytes was written, 0 bytes behind its end\n719");
  CHECK(told("x[-1] = 1;") == "fake CUDA: memory before the block of 100 bytes was written\n719");
  CHECK(told("freed[7] = 1;", {{"KILN_FAKE_QUARANTINE", "1000"}}) ==
        "fake CUDA: the block of 200 bytes was written after it was freed, at byte 7\n719");
}

TEST_CASE("an allocation is set to find no memory", "[fake_streams]") {
  CHECK(with_cuda({{"KILN_FAKE_OOM_AT", "3"}}, [](const Cuda& cuda) -> std::string {
          Address x = 0;
          void* host = nullptr;
          KILN_MUST(cuda.api.cuMemAlloc_v2(&x, 8) == kSuccess);
          KILN_MUST(cuda.api.cuMemHostAlloc(&host, 8, 0) == kSuccess);
          KILN_MUST(cuda.api.cuMemAllocAsync(&x, 8, nullptr) == kOutOfMemory);
          KILN_MUST(cuda.api.cuMemAllocAsync(&x, 8, nullptr) == kSuccess);
          return "";
        }) == "");
}

TEST_CASE("addresses are used again", "[fake_streams]") {
  CHECK(with_cuda({{"KILN_FAKE_MEMORY", "100000000"}, {"KILN_FAKE_QUARANTINE", "10000000"}},
                  [](const Cuda& cuda) -> std::string {
                    const DriverApi& api = cuda.api;
                    for (int i = 0; i < 500; ++i) {
                      Address x = 0;
                      KILN_MUST(api.cuMemAllocAsync(&x, 3000000, nullptr) == kSuccess);
                      KILN_MUST(api.cuMemsetD8Async(x, 1, 1, nullptr) == kSuccess);
                      KILN_MUST(api.cuMemFreeAsync(x, nullptr) == kSuccess);
                    }
                    KILN_MUST(api.cuCtxSynchronize() == kSuccess);
                    return "";
                  }) == "");
}

TEST_CASE("streams are set to work within the call", "[fake_streams]") {
  CHECK(with_cuda({{"KILN_FAKE_SYNC", "1"}}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(kWaiting);
          const StreamHandle a = new_stream(cuda), b = new_stream(cuda);
          EventHandle event = nullptr;
          const Address x = cuda.on_card(std::vector<int>{5});
          KILN_MUST(cuda.api.cuEventCreate(&event, 0) == kSuccess);
          KILN_MUST(cuda.launch(f, {1, 1, 0, a}, static_cast<int*>(nullptr), x, 6) == kSuccess);
          KILN_MUST(cuda.api.cuEventRecord(event, a) == kSuccess);
          KILN_MUST(cuda.api.cuEventQuery(event) == kSuccess && cuda.api.cuStreamQuery(a) == kSuccess);
          KILN_MUST(cuda.api.cuStreamWaitEvent(b, event, 0) == kSuccess);
          KILN_MUST(cuda.read<int>(x, 1)[0] == 6);
          KILN_MUST(cuda.api.cuMemFreeAsync(x, b) == kSuccess);
          KILN_MUST(cuda.api.cuCtxSynchronize() == kSuccess);
          return "";
        }) == "");
}

}  // namespace kiln::fake_streams_test
