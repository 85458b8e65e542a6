// What the fake driver finds in the accesses of kernels to memory.
#include <catch2/catch.hpp>

#include <regex>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_checks_test {

using namespace kiln::cuda;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using kiln::testing::Cuda;
using kiln::testing::stderr_of;
using kiln::testing::Variables;
using kiln::testing::with_cuda;

namespace {

// What is told of kernel f(int* x, int* y) over 64 elements each, in one launch; "" where nothing is.
// Addresses are told as 0x.
std::string found(const std::string& text, Cuda::Sizes sizes, const Variables& more = {}) {
  Variables variables = {{"KILN_FAKE_CHECK", "1"}};
  variables.insert(variables.end(), more.begin(), more.end());
  std::string told = with_cuda(variables, [&](const Cuda& cuda) -> std::string {
    const FunctionHandle f =
        cuda.kernel("extern \"C\" __global__ void f(int* x, int* y) {\n" + text + "\n}\n");
    const Address x = cuda.on_card(std::vector<int>(64)), y = cuda.on_card(std::vector<int>(64));
    Result result = kSuccess;
    const std::string said = stderr_of([&] { result = cuda.run(f, sizes, x, y); });
    if (said.empty() != (result == kSuccess)) return "what is told and the result differ";
    return said;
  });
  told = std::regex_replace(told, std::regex("0x[0-9a-f]+"), "0x");
  const std::string before = "fake CUDA: kernel f, block ";
  return told.starts_with(before) ? told.substr(before.size(), told.size() - before.size() - 1) : told;
}

const Variables kDrawn = {{"KILN_FAKE_SEED", "3"}};

}  // namespace

TEST_CASE("an access outside of all blocks is told with its line", "[fake_checks]") {
  CHECK(found("if (threadIdx.x == 3)\n x[64] = 1;", {1, 4}) ==
        "(0,0,0), thread (3,0,0): test.cu:3: a write of 4 bytes at 0x, 0 bytes behind the end of the block "
        "of 256 bytes at 0x");
  CHECK(found("y[0] = x[-2];", {1, 1}) ==
        "(0,0,0), thread (0,0,0): test.cu:2: a read of 4 bytes at 0x, 8 bytes before the block of 256 bytes "
        "at 0x");
  CHECK_THAT(
      found("*reinterpret_cast<long long*>(x + 63) = 1;", {1, 1}),
      EndsWith(
          "a write of 8 bytes at 0x, 4 bytes of which are behind the end of the block of 256 bytes at 0x"));
  CHECK_THAT(found("atomicAdd(x + blockIdx.x * 64, 1);", {2, 1}),
             StartsWith("(1,0,0), thread (0,0,0): test.cu:2: an atomic access of 4 bytes at 0x"));
  CHECK_THAT(found("\ny[threadIdx.x] = __ldg(x\n + 70 * threadIdx.x);", {1, 2}),
             StartsWith("(0,0,0), thread (1,0,0): test.cu:3: a read of 4 bytes at 0x, 24 bytes behind"));
  CHECK(
      found("struct Big { int parts[9]; };\n*reinterpret_cast<Big*>(y) = *reinterpret_cast<Big*>(x + 60);",
            {1, 1})
          .starts_with(
              "(0,0,0), thread (0,0,0): test.cu:3: a read of 36 bytes at 0x, 20 bytes of which are behind"));
  CHECK_THAT(found("y[0] = *reinterpret_cast<int*>(16);", {1, 1}),
             EndsWith("test.cu:2: a read of 4 bytes at 0x, where no block is near"));
}

TEST_CASE("an access to memory that was freed is told", "[fake_checks]") {
  CHECK(with_cuda({{"KILN_FAKE_CHECK", "1"}}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel("extern \"C\" __global__ void f(int* x) { x[1] = 2; }");
          const Address x = cuda.on_card(std::vector<int>(4));
          KILN_MUST(cuda.api.cuMemFree_v2(x) == kSuccess);
          const std::string said = stderr_of([&] { cuda.run(f, {1, 1}, x); });
          KILN_MUST(said.find("test.cu:1: a write of 4 bytes at ") != std::string::npos);
          KILN_MUST(said.find(", in the block of 16 bytes at ") != std::string::npos);
          KILN_MUST(said.ends_with(", which was freed\n"));
          return "";
        }) == "");
}

TEST_CASE("memory of the host is the kernel's where the driver gave it", "[fake_checks]") {
  CHECK(with_cuda({{"KILN_FAKE_CHECK", "1"}}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel("extern \"C\" __global__ void f(int* x) { ++*x; }");
          void* mapped = nullptr;
          KILN_MUST(cuda.api.cuMemHostAlloc(&mapped, 4, 0) == kSuccess);
          KILN_MUST(cuda.run(f, {1, 1}, mapped) == kSuccess);
          int plain = 0;
          const std::string said = stderr_of([&] { cuda.run(f, {1, 1}, &plain); });
          KILN_MUST(plain == 0 && said.find("test.cu:1: a write of 4 bytes at ") != std::string::npos);
          return "";
        }) == "");
}

TEST_CASE("an access outside of shared memory is told", "[fake_checks]") {
  CHECK_THAT(
      found("__shared__ int part[8];\npart[threadIdx.x] = 1;\n__syncthreads();\nx[threadIdx.x] = part[0];",
            {1, 9}),
      StartsWith(
          "(0,0,0), thread (8,0,0): test.cu:3: a write of 4 bytes at 0x, 0 bytes behind the end of `part`"));
  CHECK(found("extern __shared__ int part[];\nx[threadIdx.x] = part[threadIdx.x];", {1, 5, 16}) ==
        "(0,0,0), thread (4,0,0): test.cu:3: a read of 4 bytes at 0x, 0 bytes behind the end of the 16 bytes "
        "of shared memory of the launch");
}

TEST_CASE("threads of a block that race are told with both lines", "[fake_checks]") {
  constexpr const char* kNoBarrier = R"(__shared__ int part[64];
part[threadIdx.x] = x[threadIdx.x];

y[threadIdx.x] = part[threadIdx.x ^ 1];)";
  CHECK(found(kNoBarrier, {1, 64}) ==
        "(0,0,0), thread (1,0,0): test.cu:3: a write of byte 4 of `part` races with a read in test.cu:5 by "
        "thread (0,0,0)");
  CHECK_THAT(found(kNoBarrier, {1, 64}, kDrawn), Contains(" races with "));
  // A write that comes after a read.
  CHECK_THAT(
      found(R"(__shared__ int part[64];
part[threadIdx.x] = x[threadIdx.x];
__syncthreads();
const int other = part[threadIdx.x ^ 1];
part[threadIdx.x] = other;)",
            {1, 64}),
      EndsWith("test.cu:5: a read of byte 0 of `part` races with a write in test.cu:6 by thread (0,0,0)"));
  CHECK(found("x[threadIdx.x / 2] = 1;", {1, 2}) ==
        "(0,0,0), thread (1,0,0): test.cu:2: a write of byte 0 of the block of 256 bytes at 0x races with a "
        "write in test.cu:2 by thread (0,0,0)");
  CHECK_THAT(found("if (threadIdx.x == 0) atomicAdd(x, 1);\nif (threadIdx.x == 1)\n  *x = 1;", {1, 2}),
             EndsWith("test.cu:4: a write of byte 0 of the block of 256 bytes at 0x races with an atomic "
                      "access in test.cu:2 by thread (0,0,0)"));
  // Bytes of one word.
  CHECK_THAT(found("char* c = reinterpret_cast<char*>(x);\nc[threadIdx.x / 5] = 1;", {1, 6}),
             StartsWith("(0,0,0), thread (1,0,0): test.cu:3: a write of byte 0"));
}

TEST_CASE("lanes of a warp are ordered by what they do together", "[fake_checks]") {
  const auto exchange = [](const std::string& together) {
    return "__shared__ int part[64];\npart[threadIdx.x] = x[threadIdx.x];\n" + together +
           "\ny[threadIdx.x] = part[threadIdx.x ^ 1];";
  };
  for (const char* const together :
       {"__syncwarp();", "__shfl_sync(0xffffffffU, 1, 0);", "__syncwarp(3U << threadIdx.x % 32 / 2 * 2);"}) {
    CHECK(found(exchange(together), {1, 64}) == "");
    CHECK(found(exchange(together), {1, 64}, kDrawn) == "");
  }
  CHECK_THAT(
      found(exchange("__syncwarp(1U << threadIdx.x % 32);"), {1, 64}),
      StartsWith(
          "(0,0,0), thread (1,0,0): test.cu:3: a write of byte 4 of `part` races with a read in test.cu:5"));
  // Lanes of another warp are not.
  CHECK_THAT(found("__shared__ int part[64];\npart[threadIdx.x] = "
                   "x[threadIdx.x];\n__syncwarp();\ny[threadIdx.x] = part[threadIdx.x ^ 32];",
                   {1, 64}),
             StartsWith("(0,0,0), thread (32,0,0): test.cu:3: a write of byte 128 of `part` races with a "
                        "read in test.cu:5"));
}

TEST_CASE("blocks that race are told", "[fake_checks]") {
  CHECK(found("x[threadIdx.x] = blockIdx.x;", {2, 2}) ==
        "(1,0,0), thread (0,0,0): test.cu:2: a write of byte 0 of the block of 256 bytes at 0x races with a "
        "write in test.cu:2 by thread (0,0,0) of another block");
  CHECK(
      found("if (blockIdx.x == 0)\n  y[threadIdx.x] = x[1];\nif (blockIdx.x == 1) x[1] = 2;", {2, 4}, kDrawn)
          .find(" of another block") != std::string::npos);
  // The last block takes what others wrote: behind a fence it may.
  const auto last_block = [](const std::string& fence) {
    return "__shared__ bool is_last;\nx[1 + blockIdx.x] = 7;\n" + fence + R"(
if (threadIdx.x == 0) is_last = atomicAdd(x, 1) == gridDim.x - 1;
__syncthreads();
if (is_last && threadIdx.x < gridDim.x) y[threadIdx.x] = x[1 + threadIdx.x];)";
  };
  CHECK(found(last_block("__threadfence();"), {4, 1}) == "");
  CHECK(
      found("__shared__ int last;\nif (threadIdx.x < 3) x[1 + 3 * blockIdx.x + threadIdx.x] = "
            "7;\n__threadfence();\n__syncthreads();\nif (threadIdx.x == 0) last = atomicAdd(x, "
            "1);\n__syncthreads();\nif (last == 3 && threadIdx.x < 12) y[threadIdx.x] = x[1 + threadIdx.x];",
            {4, 32}, kDrawn) == "");
  CHECK_THAT(found(last_block(""), {4, 1}), Contains("test.cu:7: a read of byte "));
}

TEST_CASE("kernels without faults are silent", "[fake_checks]") {
  constexpr const char* kTransposed = R"(__shared__ int tile[8][9];
const int i = threadIdx.x % 8, k = threadIdx.x / 8;
for (int turn = 0; turn < 3; ++turn) {
  tile[k][i] = x[8 * k + i] + turn;
  __syncthreads();
  if (turn == 2) y[8 * k + i] = tile[i][k];
  __syncthreads();
})";
  constexpr const char* kSum = R"(extern __shared__ int part[];
part[threadIdx.x] = x[threadIdx.x];
__syncthreads();
for (int half = 32; half > 0; half /= 2) {
  if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  __syncthreads();
}
int local[8];
for (int i = 0; i < 8; ++i) local[i] = part[i] * i;
atomicMax(y + 1, local[threadIdx.x % 8]);
if (threadIdx.x == 0) atomicAdd(y, part[0]);)";
  for (const Variables& order : {Variables{}, kDrawn}) {
    CHECK(found(kTransposed, {1, 64}, order) == "");
    CHECK(found(kSum, {3, 64, 256}, order) == "");
    // Halves of a vector, and bytes of a word, are each a thread's own.
    CHECK(found("if (threadIdx.x < 16) reinterpret_cast<int4*>(y)[threadIdx.x] = make_int4(1, 2, 3, "
                "4);\nreinterpret_cast<char*>(x)[threadIdx.x] = 1;",
                {1, 64}, order) == "");
  }
}

}  // namespace kiln::fake_checks_test
