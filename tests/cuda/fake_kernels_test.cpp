// The fake libraries compile kernels and run them as a card does: tests of the product stand on it.
#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include "tests/cuda/fake_support.h"

namespace kiln::fake_kernels_test {

using namespace kiln::cuda;
using kiln::testing::Cuda;
using kiln::testing::Variables;
using kiln::testing::with_cuda;

namespace {

// In plain order and in two drawn ones.
std::vector<Variables> orders() { return {{}, {{"KILN_FAKE_SEED", "1"}}, {{"KILN_FAKE_SEED", "2"}}}; }

std::vector<float> numbers(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i % 17) * 0.25F - 1.0F;
  return all;
}

}  // namespace

TEST_CASE("a kernel of elements runs on every thread of its grid", "[fake_kernels][sample]") {
  for (const Variables& order : orders()) {
    CHECK(with_cuda(order, [](const Cuda& cuda) -> std::string {
            const FunctionHandle f = cuda.kernel(R"(
struct Params { float scale; int shift; };
extern "C" __global__ void __launch_bounds__(256) f(const float* x, float* y, long long n, Params p) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = fmaf(x[i], p.scale, static_cast<float>(p.shift));
})");
            struct Params {
              float scale;
              int shift;
            };
            constexpr std::size_t kCount = 1000;
            const std::vector<float> x = numbers(kCount);
            const Address a = cuda.on_card(x), b = cuda.on_card(std::vector<float>(kCount + 24));
            KILN_MUST(cuda.run(f, {4, 256}, a, b, static_cast<long long>(kCount), Params{1.5F, 3}) ==
                      kSuccess);
            const std::vector<float> y = cuda.read<float>(b, kCount + 24);
            for (std::size_t i = 0; i < kCount; ++i) KILN_MUST(y[i] == std::fma(x[i], 1.5F, 3.0F));
            KILN_MUST(y[kCount] == 0);
            return "";
          }) == "");
  }
}

TEST_CASE("grids and blocks have three axes", "[fake_kernels][sample]") {
  for (const Variables& order : orders()) {
    CHECK(with_cuda(order, [](const Cuda& cuda) -> std::string {
            const FunctionHandle f = cuda.kernel(R"(
extern "C" __global__ void f(unsigned* counts) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  counts[block * (blockDim.x * blockDim.y * blockDim.z) + thread] += 1 + thread;
})");
            const Address counts = cuda.on_card(std::vector<unsigned>(30 * 24));
            Address argument = counts;
            void* parameters[] = {&argument};
            KILN_MUST(cuda.api.cuLaunchKernel(f, 2, 3, 5, 3, 4, 2, 0, nullptr, parameters, nullptr) ==
                      kSuccess);
            const auto all = cuda.read<unsigned>(counts, 30 * 24);
            for (unsigned i = 0; i < all.size(); ++i) KILN_MUST(all[i] == 1 + i % 24);
            return "";
          }) == "");
  }
}

TEST_CASE("threads of a block meet at barriers and share memory", "[fake_kernels][sample]") {
  for (const Variables& order : orders()) {
    CHECK(with_cuda(order, [](const Cuda& cuda) -> std::string {
            const FunctionHandle f = cuda.kernel(R"(
template <class T> static __device__ T sum(T* part, int n) {
  for (int half = n / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  return part[0];
}
extern "C" __global__ void f(const int* x, int* y) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  dynamic[threadIdx.x] = x[i];
  fixed[threadIdx.x] = 2 * x[i];
  __syncthreads();
  const int a = sum(dynamic, 128), b = sum(fixed, 128);
  if (threadIdx.x == 0) y[blockIdx.x] = a + b;
  if (threadIdx.x == 1) y[gridDim.x + blockIdx.x] = __LINE__;
  const int odd = __syncthreads_count(threadIdx.x % 2), any = __syncthreads_or(threadIdx.x == 5);
  const int all = __syncthreads_and(1) + 2 * __syncthreads_and(threadIdx.x > 0);
  if (threadIdx.x == 7) y[2 * gridDim.x + blockIdx.x] = odd + 1000 * any + 2000 * all;
})");
            std::vector<int> x(512);
            std::iota(x.begin(), x.end(), 0);
            const Address a = cuda.on_card(x), b = cuda.on_card(std::vector<int>(12));
            KILN_MUST(cuda.run(f, {4, 128, 128 * sizeof(int)}, a, b) == kSuccess);
            const auto y = cuda.read<int>(b, 12);
            for (int block = 0; block < 4; ++block) {
              KILN_MUST(y[static_cast<std::size_t>(block)] == 3 * (block * 128 * 128 + 127 * 64));
              KILN_MUST(y[static_cast<std::size_t>(8 + block)] == 64 + 1000 + 2000);
            }
            return "";
          }) == "");
  }
}

TEST_CASE("shared memory is undefined at first, in each block", "[fake_kernels][as_text]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(R"(
extern "C" __global__ void f(unsigned* y) {
  extern __shared__ unsigned dynamic[];
  __shared__ unsigned fixed;
  y[2 * blockIdx.x] = fixed;
  y[2 * blockIdx.x + 1] = dynamic[3];
  fixed = dynamic[3] = 0;
})");
          const Address y = cuda.on_card(std::vector<unsigned>(4));
          KILN_MUST(cuda.run(f, {2, 1, 16}, y) == kSuccess);
          KILN_MUST(cuda.read<unsigned>(y, 4) == std::vector<unsigned>(4, 0xa5a5a5a5U));
          return "";
        }) == "");
}

TEST_CASE("lanes of a warp exchange values", "[fake_kernels][sample]") {
  for (const Variables& order : orders()) {
    CHECK(with_cuda(order, [](const Cuda& cuda) -> std::string {
            const FunctionHandle f = cuda.kernel(R"(
extern "C" __global__ void f(const double* x, double* sums, int* y) {
  constexpr unsigned kAll = 0xffffffffU;
  const int i = threadIdx.x, lane = i % 32;
  double sum = x[i];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(kAll, sum, by);
  if (lane == 0) sums[i / 32] = sum;
  int* own = y + 12 * i;
  own[0] = __shfl_sync(kAll, i, 3);
  own[1] = __shfl_up_sync(kAll, i, 1);
  own[2] = __shfl_xor_sync(kAll, i, 1);
  own[3] = __shfl_down_sync(kAll, i, 1, 8);
  own[4] = static_cast<int>(__ballot_sync(kAll, lane % 3 == 0));
  own[5] = __any_sync(kAll, lane == 9) + 2 * __all_sync(kAll, lane < 32) + 4 * __all_sync(kAll, lane > 0);
  own[6] = __popc(__match_any_sync(kAll, lane / 4));
  own[7] = __reduce_add_sync(kAll, lane) + __reduce_min_sync(kAll, -lane) + __reduce_max_sync(kAll, lane);
  own[8] = -1;
  if (lane < 16) own[8] = __shfl_xor_sync(0xffffU, i, 5);
  __syncwarp();
  if (lane < 8) return;
  own[9] = static_cast<int>(__ballot_sync(kAll, 1));
})");
            std::vector<double> x(64);
            std::iota(x.begin(), x.end(), 1.0);
            const Address a = cuda.on_card(x), sums = cuda.on_card(std::vector<double>(2)),
                          b = cuda.on_card(std::vector<int>(12 * 64));
            KILN_MUST(cuda.run(f, {1, 64}, a, sums, b) == kSuccess);
            KILN_MUST(cuda.read<double>(sums, 2) == std::vector<double>{528, 528 + 32 * 32});
            const auto y = cuda.read<int>(b, 12 * 64);
            for (int i = 0; i < 64; ++i) {
              const int lane = i % 32;
              const int* const own = y.data() + 12 * i;
              KILN_MUST(own[0] == i - lane + 3);
              KILN_MUST(own[1] == (lane == 0 ? i : i - 1));
              KILN_MUST(own[2] == (i ^ 1));
              KILN_MUST(own[3] == (i % 8 == 7 ? i : i + 1));
              KILN_MUST(own[4] == 0x49249249);
              KILN_MUST(own[5] == 3);
              KILN_MUST(own[6] == 4);
              KILN_MUST(own[7] == 31 * 16 - 31 + 31);
              KILN_MUST(own[8] == (lane < 16 ? (i ^ 5) : -1));
              KILN_MUST(own[9] == (lane < 8 ? 0 : static_cast<int>(0xffffff00U)));
            }
            return "";
          }) == "");
  }
}

TEST_CASE("atomic operations of all kinds", "[fake_kernels][sample]") {
  for (const Variables& order : orders()) {
    CHECK(with_cuda(order, [](const Cuda& cuda) -> std::string {
            const FunctionHandle f = cuda.kernel(R"(
extern "C" __global__ void f(unsigned* u, unsigned long long* l, float* x, int* last) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(u, i);
  atomicMax(u + 1, i);
  atomicMin(u + 2, i + 5);
  atomicOr(u + 3, 1U << (i % 32));
  atomicAdd(l, static_cast<unsigned long long>(i) << 32);
  atomicAdd(x, 0.5F);
  atomicExch(x + 1, 2.0F);
  while (atomicCAS(u + 4, 0U, 1U) != 0U) __nanosleep(10);
  u[5] += 1;
  __threadfence();
  atomicExch(u + 4, 0U);
  __shared__ bool is_last;
  if (threadIdx.x == 0) is_last = atomicInc(u + 6, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (is_last && threadIdx.x == 0) *last = u[5];
})");
            const Address u = cuda.on_card(std::vector<unsigned>{0, 0, 1000, 0, 0, 0, 0}),
                          l = cuda.on_card(std::vector<unsigned long long>(1)),
                          x = cuda.on_card(std::vector<float>(2)), last = cuda.on_card(std::vector<int>(1));
            KILN_MUST(cuda.run(f, {4, 64}, u, l, x, last) == kSuccess);
            KILN_MUST(cuda.read<unsigned>(u, 7) ==
                      std::vector<unsigned>{255 * 128, 255, 5, 0xffffffffU, 0, 256, 4});
            KILN_MUST(cuda.read<unsigned long long>(l, 1)[0] == 255ULL * 128 << 32);
            KILN_MUST(cuda.read<float>(x, 2) == std::vector<float>{128, 2});
            KILN_MUST(cuda.read<int>(last, 1)[0] == 256);
            return "";
          }) == "");
  }
}

TEST_CASE("headers are found by name, and macros make kernels", "[fake_kernels]") {
  CHECK(
      with_cuda({}, [](const Cuda& cuda) -> std::string {
        const Cuda::Program program =
            cuda.compile(R"(#include "a/outer.h"
KILN_TWICE(f, int)
KILN_TWICE(g, double)
)",
                         {"-DKILN_BY=3", "-lineinfo"},
                         {{"a/outer.h", R"(#include "a/inner.h"
#define KILN_TWICE(name, T) extern "C" __global__ void name(T* x) { extern __shared__ T name##_part[]; \
  name##_part[0] = times<T>(*x); *x = name##_part[0]; }
)"},
                          {"a/inner.h", "template <class T> T times(T x) { return x * KILN_BY; }\n"}});
        KILN_MUST(program.log.empty());
        ModuleHandle module = nullptr;
        FunctionHandle f = nullptr, g = nullptr;
        KILN_MUST(cuda.api.cuModuleLoadDataEx(&module, program.code.data(), 0, nullptr, nullptr) == kSuccess);
        KILN_MUST(cuda.api.cuModuleGetFunction(&f, module, "f") == kSuccess);
        KILN_MUST(cuda.api.cuModuleGetFunction(&g, module, "g") == kSuccess);
        FunctionHandle none = nullptr;
        KILN_MUST(cuda.api.cuModuleGetFunction(&none, module, "h") == kNotFound);
        const Address a = cuda.on_card(std::vector<int>{7}), b = cuda.on_card(std::vector<double>{0.5});
        KILN_MUST(cuda.run(f, {1, 1, 8}, a) == kSuccess && cuda.run(g, {1, 1, 8}, b) == kSuccess);
        KILN_MUST(cuda.read<int>(a, 1)[0] == 21 && cuda.read<double>(b, 1)[0] == 1.5);
        KILN_MUST(cuda.api.cuModuleUnload(module) == kSuccess && cuda.run(f, {1, 1, 8}, a) == kInvalidHandle);
        KILN_MUST(cuda.api.cuModuleUnload(module) == kInvalidHandle);
        return "";
      }) == "");
}

}  // namespace kiln::fake_kernels_test
