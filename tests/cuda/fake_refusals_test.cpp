// What the fake libraries refuse and what they find wrong in kernels.
#include <catch2/catch.hpp>

#include <cstring>
#include <thread>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_refusals_test {

using namespace kiln::cuda;
using kiln::testing::Cuda;
using kiln::testing::stderr_of;
using kiln::testing::Variables;
using kiln::testing::with_cuda;

namespace {

constexpr const char* kPlain = R"(extern "C" __global__ void f(int* x) { x[threadIdx.x] = 1; })";

// What a run of the kernel f(int* x) says, and what later calls give.
std::string outcome(const std::string& text, Cuda::Sizes sizes, const Variables& variables = {}) {
  return with_cuda(variables, [&](const Cuda& cuda) -> std::string {
    const FunctionHandle f = cuda.kernel(text);
    const Address x = cuda.on_card(std::vector<int>(64));
    Result result = kSuccess;
    const std::string told = stderr_of([&] { result = cuda.run(f, sizes, x); });
    const Result later = cuda.api.cuCtxSynchronize();
    return told + std::to_string(result) + (later == result ? ", and later" : ", not later");
  });
}

}  // namespace

TEST_CASE("a text that does not compile has a log", "[fake_kernels][as_text]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const Cuda::Program wrong = cuda.compile("\nextern \"C\" __global__ void f() { nothing(); }");
          KILN_MUST(wrong.result == kNvrtcCompilation && wrong.code.empty());
          KILN_MUST(wrong.log.starts_with("test.cu:2:"));
          KILN_MUST(wrong.log.find("undeclared identifier 'nothing'") != std::string::npos);
          const Cuda::Program header = cuda.compile("#include <cstdint>\n");
          KILN_MUST(header.result == kNvrtcCompilation);
          KILN_MUST(header.log.find("'cstdint' file not found") != std::string::npos);
          // What is not rounded in one way is not there.
          KILN_MUST(cuda.compile("float f(float x) { return expf(x); }").result == kNvrtcCompilation);
          KILN_MUST(
              std::strcmp(cuda.nvrtc.nvrtcGetErrorString(kNvrtcCompilation), "NVRTC_ERROR_COMPILATION") == 0);
          return "";
        }) == "");
}

TEST_CASE("options that NVRTC does not know are refused", "[fake_kernels]") {
  const auto with_option = [](const std::string& option, const Variables& variables = {}) {
    return with_cuda(variables, [&](const Cuda& cuda) -> std::string {
      const Cuda::Program program = cuda.compile(kPlain, {option});
      return std::to_string(program.result) + (program.code.empty() ? ": " : ": code ") + program.log;
    });
  };
  CHECK(with_option("-lineinfo") == "0: code ");
  CHECK(with_option("--gpu-architecture=compute_90") == "0: ");
  CHECK(with_option("--gpu-architecture=sm_90a") == "0: code ");
  CHECK(with_option("-O3") == "5: nvrtc: error: invalid value or unknown option: -O3\n");
  CHECK(with_option("--gpu-architecture=sm_61") ==
        "5: nvrtc: error: invalid value or unknown option: --gpu-architecture=sm_61\n");
  CHECK(with_option("--gpu-architecture=").starts_with("5: "));
  CHECK(with_option("-lineinfo", {{"KILN_FAKE_NVRTC_VERSION", "12.3"}}) ==
        "5: nvrtc: error: invalid value or unknown option: --minimal\n");
}

TEST_CASE("an image that is damaged or of another card is refused", "[fake_kernels]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const std::string code = cuda.compile(kPlain).code;
          ModuleHandle module = nullptr;
          const auto load = [&](const std::string& image) {
            return cuda.api.cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr);
          };
          KILN_MUST(load(code) == kSuccess);
          for (std::size_t at = 0; at < code.size(); at += code.size() / 50 + 1) {
            std::string damaged = code;
            damaged[at] = static_cast<char>(damaged[at] ^ 1);
            const Result result = load(damaged);
            KILN_MUST(result == kInvalidImage || result == kNoBinaryForGpu);
          }
          KILN_MUST(load(std::string(1000, 'x')) == kInvalidImage);
          KILN_MUST(load(cuda.compile(kPlain, {"--gpu-architecture=sm_80"}).code) == kNoBinaryForGpu);
          KILN_MUST(load(cuda.compile(kPlain, {"--gpu-architecture=sm_100"}).code) == kNoBinaryForGpu);
          KILN_MUST(cuda.api.cuModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr) == kInvalidValue);
          return "";
        }) == "");
  CHECK(with_cuda({{"KILN_FAKE_CAPABILITY", "89"}}, [](const Cuda& cuda) -> std::string {
          const std::string code = cuda.compile(kPlain, {"--gpu-architecture=sm_80"}).code;
          ModuleHandle module = nullptr;
          KILN_MUST(cuda.api.cuModuleLoadDataEx(&module, code.data(), 0, nullptr, nullptr) == kSuccess);
          return "";
        }) == "");
}

TEST_CASE("launches have limits", "[fake_kernels]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(R"(
extern "C" __global__ void __launch_bounds__(2 * 64, 1) f(char* x) {
  __shared__ char part[1024];
  part[*x] = 0;
  __syncthreads();
  *x = part[0];
})");
          const FunctionHandle g = cuda.kernel(kPlain);
          Address x = cuda.on_card(std::vector<int>(1024));
          void *parameters[] = {&x}, *none[] = {nullptr};
          const auto launch = [&](FunctionHandle function, unsigned grid_y, unsigned block_x,
                                  unsigned block_z, unsigned shared, void** given) {
            return cuda.api.cuLaunchKernel(function, 1, grid_y, 1, block_x, 1, block_z, shared, nullptr,
                                           given, nullptr);
          };
          KILN_MUST(launch(f, 1, 128, 1, 47 * 1024, parameters) == kSuccess);
          KILN_MUST(launch(f, 1, 129, 1, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(f, 1, 128, 1, 47 * 1024 + 1, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 1, 1024, 1, 48 * 1024, parameters) == kSuccess);
          KILN_MUST(launch(g, 1, 1025, 1, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 1, 512, 3, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 1, 1, 65, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 65536, 1, 1, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 0, 1, 1, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 1, 0, 1, 0, parameters) == kInvalidValue);
          KILN_MUST(launch(g, 1, 1, 1, 0, nullptr) == kInvalidValue);
          KILN_MUST(launch(g, 1, 1, 1, 0, none) == kInvalidValue);
          KILN_MUST(launch(nullptr, 1, 1, 1, 0, parameters) == kInvalidHandle);
          int value = 0, blocks = 0;
          KILN_MUST(cuda.api.cuFuncGetAttribute(&value, kFunctionShared, f) == kSuccess && value == 1024);
          KILN_MUST(cuda.api.cuFuncGetAttribute(&value, kFunctionMaxThreads, f) == kSuccess && value == 128);
          KILN_MUST(cuda.api.cuFuncSetAttribute(f, kFunctionMaxDynamicShared, 99 * 1024) == kInvalidValue);
          KILN_MUST(cuda.api.cuFuncSetAttribute(f, kFunctionMaxDynamicShared, 98 * 1024) == kSuccess);
          KILN_MUST(launch(f, 1, 128, 1, 98 * 1024, parameters) == kSuccess);
          KILN_MUST(cuda.api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, g, 256, 0) == kSuccess);
          KILN_MUST(blocks == 6);
          KILN_MUST(cuda.api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 98 * 1024) ==
                        kSuccess &&
                    blocks == 1);
          KILN_MUST(cuda.api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, g, 256, 90 * 1024) ==
                        kSuccess &&
                    blocks == 0);
          KILN_MUST(cuda.api.cuCtxSynchronize() == kSuccess);
          return "";
        }) == "");
}

TEST_CASE("what is wrong in a kernel is told and loses the context", "[fake_kernels][sample]") {
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
})",
                {1, 64}) ==
        "fake CUDA: kernel f, block (0,0,0), thread (63,0,0): thread (0,0,0) waits at the barrier in line 3, "
        "thread (32,0,0) at that in line 5\n719, and later");
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) {
  if (threadIdx.x == 3) __syncwarp();
  __syncthreads();
})",
                {2, 32}) ==
        "fake CUDA: kernel f, block (0,0,0), thread (31,0,0): threads wait for each other: (0,0,0) at the "
        "barrier in line 3, (3,0,0) for lanes of its warp in line 2, (4,0,0) at the barrier in line "
        "3\n719, and later");
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) {
  *x = __shfl_sync(threadIdx.x < 2 ? 3 : 8, 1, 0);
})",
                {1, 4}) ==
        "fake CUDA: kernel f, block (0,0,0), thread (2,0,0): line 2: the mask does not name the lane "
        "itself\n719, and later");
  CHECK(
      outcome(R"(extern "C" __global__ void f(int* x) {
  if (threadIdx.x == 0) __syncwarp(3);
  else __ballot_sync(3, 1);
})",
              {1, 2}) ==
      "fake CUDA: kernel f, block (0,0,0), thread (1,0,0): lanes of a warp wait in line 2 and in line 3 with "
      "different masks or for different things\n719, and later");
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) { if (blockIdx.x == 1) __trap(); })", {2, 1}) ==
        "fake CUDA: kernel f, block (1,0,0), thread (0,0,0): line 1: a trap\n719, and later");
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) { assert(threadIdx.x < 3); })", {1, 4}) ==
        "fake CUDA: kernel f, block (0,0,0), thread (3,0,0): line 1: assertion `threadIdx.x < 3` "
        "failed\n710, and later");
  for (const char* const far : {"x[1LL << 32]", "x[1LL << 44]", "*reinterpret_cast<int*>(8)"}) {
    const std::string told = outcome(
        "extern \"C\" __global__ void f(int* x) { if (threadIdx.x == 2) " + std::string(far) + " = 1; }",
        {1, 4});
    CHECK(told.starts_with(
        "fake CUDA: kernel f, block (0,0,0), thread (2,0,0): an access to an illegal address"));
    CHECK(told.ends_with("700, and later"));
  }
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) {
  *reinterpret_cast<float4*>(x + threadIdx.x) = make_float4(*x, 2, 3, 4);
})",
                {1, 2})
            .ends_with("thread (1,0,0): a vector that is not aligned\n716, and later"));
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) {
  volatile int big[1 << 18];
  big[*x] = 1;
  x[1] = big[*x + 7];
})",
                {1, 1})
            .ends_with("700, and later"));
  CHECK(
      outcome(R"(extern "C" __global__ void f(int* x) {
  extern __shared__ int part[];
  part[threadIdx.x] = 1;
})",
              {1, 17, 64}) ==
      "fake CUDA: kernel f, block (0,0,0), thread (16,0,0): the block wrote beyond the shared memory of its "
      "launch\n700, and later");
}

// A card gives bits, which ones is left open.
TEST_CASE("a division of integers by zero is told", "[fake_kernels][as_text]") {
  CHECK(outcome(R"(extern "C" __global__ void f(int* x) { *x = 7 / *x; })", {1, 1})
            .ends_with("719, and later"));
}

TEST_CASE("after a fault of a kernel the host's own still end the process", "[fake_kernels]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(kPlain);
          KILN_MUST(cuda.run(f, {1, 1}, cuda.on_card(std::vector<int>(1))) == kSuccess);
          *reinterpret_cast<volatile int*>(8) = 1;
          return "";
        }) == "signal 11");
}

TEST_CASE("a compilation can be stopped", "[fake_kernels]") {
  CHECK(with_cuda({{"KILN_FAKE_CACHE", "/dev/null/none"}}, [](const Cuda& cuda) -> std::string {
          NvrtcProgram program = nullptr;
          KILN_MUST(cuda.nvrtc.nvrtcCreateProgram(&program, kPlain, nullptr, 0, nullptr, nullptr) ==
                    kNvrtcSuccess);
          KILN_MUST(cuda.nvrtc.nvrtcSetFlowCallback(
                        program, [](void*, void*) { return 1; }, nullptr) == kNvrtcSuccess);
          KILN_MUST(cuda.nvrtc.nvrtcCompileProgram(program, 0, nullptr) == kNvrtcCancelled);
          KILN_MUST(cuda.nvrtc.nvrtcSetFlowCallback(program, nullptr, nullptr) == kNvrtcSuccess);
          KILN_MUST(cuda.nvrtc.nvrtcCompileProgram(program, 0, nullptr) == kNvrtcSuccess);
          std::size_t bytes = 0;
          KILN_MUST(cuda.nvrtc.nvrtcGetPTXSize(program, &bytes) == kNvrtcSuccess &&
                    bytes == std::strlen(kPlain) + 1);
          KILN_MUST(cuda.nvrtc.nvrtcDestroyProgram(&program) == kNvrtcSuccess && program == nullptr);
          KILN_MUST(cuda.nvrtc.nvrtcDestroyProgram(&program) == kNvrtcInvalidProgram);
          return "";
        }) == "");
  CHECK(with_cuda({{"KILN_FAKE_COMPILER", "/no/such/compiler"}}, [](const Cuda& cuda) -> std::string {
          return std::to_string(cuda.compile("// not compiled before").result);
        }) == "11");
}

}  // namespace kiln::fake_refusals_test
