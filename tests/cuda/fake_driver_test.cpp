// The fake driver does what the driver's documentation says: tests of the product stand on it.
#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_driver_test {

using namespace kiln::cuda;
using kiln::testing::stderr_of;
using kiln::testing::with_context;
using kiln::testing::with_driver;

TEST_CASE("the fake driver starts as the driver does", "[fake_driver]") {
  CHECK(with_driver({}, [](const DriverApi& api) -> std::string {
          int count = 0, value = 0;
          ContextHandle context = nullptr, current = nullptr;
          std::size_t free = 0, total = 0;
          KILN_MUST(api.cuDriverGetVersion(&value) == kSuccess && value == 13000);
          KILN_MUST(api.cuDeviceGetCount(&count) == kNotInitialized);
          KILN_MUST(api.cuInit(1) == kInvalidValue);
          KILN_MUST(api.cuInit(0) == kSuccess && api.cuInit(0) == kSuccess);
          KILN_MUST(api.cuDeviceGetCount(&count) == kSuccess && count == 1);
          KILN_MUST(api.cuDeviceGet(&value, 1) == kInvalidDevice);
          KILN_MUST(api.cuDeviceGetAttribute(&value, kSharedPerBlockOptIn, 0) == kSuccess &&
                    value == 99 * 1024);
          KILN_MUST(api.cuDeviceGetAttribute(&value, kWarpSize, 0) == kSuccess && value == 32);
          KILN_MUST(api.cuDeviceGetAttribute(&value, 100000, 0) == kInvalidValue);
          KILN_MUST(api.cuMemGetInfo_v2(&free, &total) == kInvalidContext);
          KILN_MUST(api.cuDevicePrimaryCtxRetain(&context, 0) == kSuccess);
          KILN_MUST(api.cuCtxSetCurrent(context) == kSuccess);
          KILN_MUST(api.cuCtxGetCurrent(&current) == kSuccess && current == context);
          KILN_MUST(api.cuMemGetInfo_v2(&free, &total) == kSuccess && free == total &&
                    total == std::size_t{1} << 30);
          KILN_MUST(api.cuCtxSynchronize() == kSuccess);
          KILN_MUST(api.cuDevicePrimaryCtxRelease_v2(0) == kSuccess);
          KILN_MUST(api.cuDevicePrimaryCtxRelease_v2(0) == kInvalidContext);
          KILN_MUST(api.cuCtxSynchronize() == kInvalidContext);
          return "";
        }) == "");
}

TEST_CASE("the fake driver names errors", "[fake_driver]") {
  CHECK(with_driver({}, [](const DriverApi& api) -> std::string {
          const char* text = nullptr;
          KILN_MUST(api.cuGetErrorName(kIllegalAddress, &text) == kSuccess);
          KILN_MUST(std::strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
          KILN_MUST(api.cuGetErrorString(kOutOfMemory, &text) == kSuccess &&
                    std::strcmp(text, "out of memory") == 0);
          KILN_MUST(api.cuGetErrorName(12345, &text) == kInvalidValue && text == nullptr);
          return "";
        }) == "");
}

TEST_CASE("memory of the fake card has a size and bounds", "[fake_driver]") {
  CHECK(with_context({{"KILN_FAKE_MEMORY", "4096"}}, [](const DriverApi& api) -> std::string {
          Address a = 0, b = 0;
          std::size_t free = 0, total = 0;
          KILN_MUST(api.cuMemAlloc_v2(&a, 0) == kInvalidValue);
          KILN_MUST(api.cuMemAlloc_v2(&a, 3000) == kSuccess && a % 512 == 0);
          KILN_MUST(api.cuMemAlloc_v2(&b, 2000) == kOutOfMemory);
          KILN_MUST(api.cuMemAllocAsync(&b, 1096, nullptr) == kSuccess);
          KILN_MUST(api.cuMemGetInfo_v2(&free, &total) == kSuccess && free == 0 && total == 4096);
          std::uint64_t used = 0;
          PoolHandle pool = nullptr;
          KILN_MUST(api.cuDeviceGetDefaultMemPool(&pool, 0) == kSuccess);
          KILN_MUST(api.cuMemPoolGetAttribute(pool, kPoolUsed, &used) == kSuccess && used == 4096);
          KILN_MUST(api.cuMemFree_v2(a + 1) == kInvalidValue);
          KILN_MUST(api.cuMemFree_v2(a) == kSuccess && api.cuMemFree_v2(a) == kInvalidValue);
          KILN_MUST(api.cuMemFree_v2(0) == kSuccess);
          KILN_MUST(api.cuMemPoolGetAttribute(pool, kPoolUsed, &used) == kSuccess && used == 1096);
          KILN_MUST(api.cuMemPoolGetAttribute(pool, kPoolUsedHigh, &used) == kSuccess && used == 4096);
          used = 0;
          KILN_MUST(api.cuMemPoolSetAttribute(pool, kPoolUsedHigh, &used) == kSuccess);
          KILN_MUST(api.cuMemPoolGetAttribute(pool, kPoolUsedHigh, &used) == kSuccess && used == 1096);
          std::uint64_t threshold = 7;
          KILN_MUST(api.cuMemPoolSetAttribute(pool, kPoolReleaseThreshold, &threshold) == kSuccess);
          KILN_MUST(api.cuMemPoolGetAttribute(pool, kPoolReleaseThreshold, &used) == kSuccess && used == 7);
          KILN_MUST(api.cuMemPoolSetAttribute(pool, kPoolUsed, &threshold) == kInvalidValue);
          KILN_MUST(api.cuMemPoolTrimTo(pool, 0) == kSuccess &&
                    api.cuMemPoolTrimTo(nullptr, 0) == kInvalidValue);
          KILN_MUST(api.cuMemFreeAsync(b, nullptr) == kSuccess);
          return "";
        }) == "");
}

TEST_CASE("copies and fills of the fake driver stay within blocks", "[fake_driver]") {
  CHECK(with_context({}, [](const DriverApi& api) -> std::string {
          constexpr std::size_t kBytes = 64;
          Address a = 0, b = 0;
          void* host = nullptr;
          KILN_MUST(api.cuMemAlloc_v2(&a, kBytes) == kSuccess && api.cuMemAlloc_v2(&b, kBytes) == kSuccess);
          KILN_MUST(api.cuMemHostAlloc(&host, kBytes, kHostPortable | kHostMapped) == kSuccess);
          auto* const bytes = static_cast<unsigned char*>(host);
          std::iota(bytes, bytes + kBytes, static_cast<unsigned char>(1));
          KILN_MUST(api.cuMemcpyHtoDAsync_v2(a, host, kBytes, nullptr) == kSuccess);
          KILN_MUST(api.cuMemcpyHtoDAsync_v2(a + 1, host, kBytes, nullptr) == kInvalidValue);
          KILN_MUST(api.cuMemcpyDtoDAsync_v2(b, a, kBytes, nullptr) == kSuccess);
          KILN_MUST(api.cuMemsetD8Async(b + 1, 9, 2, nullptr) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(b + 4, 0x01020304, 15, nullptr) == kSuccess);
          KILN_MUST(api.cuMemsetD32Async(b + 4, 0, 16, nullptr) == kInvalidValue);
          KILN_MUST(api.cuMemsetD32Async(b + 2, 0, 1, nullptr) == kInvalidValue);
          KILN_MUST(api.cuMemsetD8Async(b, 0, kBytes + 1, nullptr) == kInvalidValue);
          KILN_MUST(api.cuCtxSynchronize() == kSuccess);
          std::memset(host, 0, kBytes);
          KILN_MUST(api.cuMemcpyDtoHAsync_v2(host, b, kBytes, nullptr) == kSuccess);
          KILN_MUST(api.cuMemcpyDtoHAsync_v2(bytes + 1, b, kBytes, nullptr) == kInvalidValue);
          KILN_MUST(api.cuCtxSynchronize() == kSuccess);
          KILN_MUST(bytes[0] == 1 && bytes[1] == 9 && bytes[2] == 9 && bytes[3] == 4 && bytes[63] == 1);
          ContextHandle context = nullptr;
          KILN_MUST(api.cuCtxGetCurrent(&context) == kSuccess);
          KILN_MUST(api.cuMemcpyPeerAsync(a, context, b, context, kBytes, nullptr) == kSuccess);
          KILN_MUST(api.cuMemcpyPeerAsync(a, nullptr, b, context, kBytes, nullptr) == kInvalidContext);
          KILN_MUST(api.cuMemFreeHost(host) == kSuccess && api.cuMemFreeHost(host) == kInvalidValue);
          KILN_MUST(api.cuMemcpyDtoDAsync_v2(b, 4096, 1, nullptr) == kInvalidValue);
          return "";
        }) == "");
}

TEST_CASE("streams and events of the fake driver", "[fake_driver]") {
  CHECK(with_context({}, [](const DriverApi& api) -> std::string {
          StreamHandle stream = nullptr;
          EventHandle start = nullptr, end = nullptr, untimed = nullptr;
          float milliseconds = -1;
          KILN_MUST(api.cuStreamCreate(&stream, 4) == kInvalidValue);
          KILN_MUST(api.cuStreamCreate(&stream, kStreamNonBlocking) == kSuccess);
          KILN_MUST(api.cuEventCreate(&start, 0) == kSuccess &&
                    api.cuEventCreate(&end, kEventBlockingSync) == kSuccess);
          KILN_MUST(api.cuEventCreate(&untimed, kEventDisableTiming) == kSuccess);
          KILN_MUST(api.cuEventElapsedTime(&milliseconds, start, end) == kInvalidHandle);
          for (const EventHandle event : {start, untimed, end})
            KILN_MUST(api.cuEventRecord(event, stream) == kSuccess);
          KILN_MUST(api.cuEventSynchronize(end) == kSuccess);
          KILN_MUST(api.cuEventElapsedTime(&milliseconds, start, end) == kSuccess && milliseconds >= 0);
          KILN_MUST(api.cuEventElapsedTime(&milliseconds, start, untimed) == kInvalidHandle);
          KILN_MUST(api.cuEventQuery(end) == kSuccess && api.cuEventSynchronize(end) == kSuccess);
          KILN_MUST(api.cuStreamWaitEvent(stream, end, 0) == kSuccess);
          KILN_MUST(api.cuStreamQuery(stream) == kSuccess && api.cuStreamSynchronize(nullptr) == kSuccess);
          for (const EventHandle event : {start, untimed, end})
            KILN_MUST(api.cuEventDestroy_v2(event) == kSuccess);
          KILN_MUST(api.cuEventQuery(end) == kInvalidHandle);
          KILN_MUST(api.cuStreamDestroy_v2(stream) == kSuccess);
          KILN_MUST(api.cuStreamSynchronize(stream) == kInvalidHandle);
          KILN_MUST(api.cuStreamDestroy_v2(nullptr) == kInvalidHandle);
          return "";
        }) == "");
}

TEST_CASE("an entry point fails at the call that is set, and a sticky error stays", "[fake_driver]") {
  CHECK(with_context({{"KILN_FAKE_FAIL", "cuMemAlloc_v2:2:2,cuStreamQuery:1:700"}},
                     [](const DriverApi& api) -> std::string {
                       Address a = 0;
                       KILN_MUST(api.cuMemAlloc_v2(&a, 8) == kSuccess);
                       KILN_MUST(api.cuMemAlloc_v2(&a, 8) == kOutOfMemory);
                       KILN_MUST(api.cuMemAlloc_v2(&a, 8) == kSuccess);
                       KILN_MUST(api.cuStreamSynchronize(nullptr) == kSuccess);
                       KILN_MUST(api.cuStreamQuery(nullptr) == kIllegalAddress);
                       KILN_MUST(api.cuStreamSynchronize(nullptr) == kIllegalAddress);
                       KILN_MUST(api.cuMemFree_v2(a) == kIllegalAddress);
                       const char* text = nullptr;
                       KILN_MUST(api.cuGetErrorName(kIllegalAddress, &text) == kSuccess);
                       return "";
                     }) == "");
}

TEST_CASE("what the fakes do not do says so", "[fake_driver]") {
  CHECK(with_context({}, [](const DriverApi& api) {
          return stderr_of([&] {
            StreamHandle stream = nullptr;
            Address address = 0;
            api.cuStreamCreate(&stream, kStreamNonBlocking);
            api.cuStreamBeginCapture_v2(stream, kCaptureGlobal);
            api.cuMemAllocAsync(&address, 8, stream);
          });
        }) == "fake CUDA: cuMemAllocAsync in a capture is not implemented\n");
}

}  // namespace kiln::fake_driver_test
