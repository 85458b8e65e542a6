// The fake cublasLt computes products, and refuses what is wrong.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

#include "tensor/convert.h"
#include "tests/cuda/fake_support.h"

namespace kiln::fake_products_test {

using namespace kiln::cuda;
using kiln::testing::Cuda;
using kiln::testing::stderr_of;
using kiln::testing::with_cuda;

namespace {

struct Matrix {
  int type = kRealF32;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  int batch = 1;
  std::int64_t stride = 0;
};

struct Setup {
  Matrix a, b, c, d;
  int compute = kComputeF32, scale = kRealF32;
  int transpose_a = kNotTransposed, transpose_b = kNotTransposed;
  Address bias = 0;
  unsigned alignment = 4;
  std::uint64_t workspace = 0;
};

// What cublasLt is called with for a product.
struct Call {
  const CublasLtApi& api;
  const Setup& setup;
  Cublas handle = nullptr;
  MatmulDesc description = nullptr;
  MatrixLayout layouts[4] = {};
  MatmulPreference preference = nullptr;
  MatmulHeuristic found{};

  Call(const Cuda& cuda, const Setup& with) : api(cuda.cublaslt), setup(with) {
    api.cublasLtCreate(&handle);
    api.cublasLtMatmulDescCreate(&description, setup.compute, setup.scale);
    set(kProductTransposeA, setup.transpose_a);
    set(kProductTransposeB, setup.transpose_b);
    if (setup.bias != 0) {
      set(kProductEpilogue, kEpilogueBias);
      set(kProductBias, setup.bias);
    }
    const Matrix* const all[] = {&setup.a, &setup.b, &setup.c, &setup.d};
    for (int i = 0; i < 4; ++i) {
      const Matrix& each = *all[i];
      api.cublasLtMatrixLayoutCreate(&layouts[i], each.type, each.rows, each.columns, each.leading);
      api.cublasLtMatrixLayoutSetAttribute(layouts[i], kMatrixBatch, &each.batch, sizeof each.batch);
      api.cublasLtMatrixLayoutSetAttribute(layouts[i], kMatrixBatchStride, &each.stride, sizeof each.stride);
    }
    api.cublasLtMatmulPreferenceCreate(&preference);
    api.cublasLtMatmulPreferenceSetAttribute(preference, kPreferWorkspace, &setup.workspace, 8);
    for (const int which : {kPreferAlignmentA, kPreferAlignmentB, kPreferAlignmentC, kPreferAlignmentD})
      api.cublasLtMatmulPreferenceSetAttribute(preference, which, &setup.alignment, 4);
  }
  template <class T>
  void set(int attribute, T value) {
    api.cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value);
  }
  CublasResult find() {
    int count = 0;
    return api.cublasLtMatmulAlgoGetHeuristic(handle, description, layouts[0], layouts[1], layouts[2],
                                              layouts[3], preference, 1, &found, &count);
  }
  template <class T>
  CublasResult run(T alpha, Address a, Address b, T beta, Address c, Address d, Address workspace = 0,
                   std::size_t bytes = 0) {
    const auto at = [](Address address) { return reinterpret_cast<void*>(address); };
    return api.cublasLtMatmul(handle, description, &alpha, at(a), layouts[0], at(b), layouts[1], &beta, at(c),
                              layouts[2], at(d), layouts[3], &found.algorithm, at(workspace), bytes, nullptr);
  }
};

constexpr std::uint64_t kRows = 3, kColumns = 2, kDepth = 4;

Setup plain() {
  return {.a = {kRealF32, kRows, kDepth, 3},
          .b = {kRealF32, kDepth, kColumns, 4},
          .c = {kRealF32, kRows, kColumns, 3},
          .d = {kRealF32, kRows, kColumns, 3}};
}

// The results for A and B whose elements count from 1, by columns.
std::vector<float> counted_product() {
  std::vector<float> d;
  for (std::uint64_t column = 0; column < kColumns; ++column) {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      float sum = 0;
      for (std::uint64_t k = 0; k < kDepth; ++k)
        sum += static_cast<float>((1 + row + k * kRows) * (1 + k + column * kDepth));
      d.push_back(sum);
    }
  }
  return d;
}

template <class T>
std::vector<T> counted(std::size_t count) {
  std::vector<T> all;
  for (std::size_t i = 1; i <= count; ++i) all.push_back(kiln::scalar::convert<T>(static_cast<float>(i)));
  return all;
}

// Rows for columns.
std::vector<float> transposed(const std::vector<float>& x, std::size_t rows) {
  std::vector<float> all;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = row; at < x.size(); at += rows) all.push_back(x[at]);
  }
  return all;
}

template <class T>
std::vector<float> widened(const std::vector<T>& x) {
  std::vector<float> all;
  for (const T each : x) all.push_back(static_cast<float>(kiln::scalar::widen(each)));
  return all;
}

// A product of matrices of this type.
template <class T>
std::string product_of(const Cuda& cuda, int type, int compute, int scale) {
  Setup setup = plain();
  for (Matrix* each : {&setup.a, &setup.b, &setup.c, &setup.d}) each->type = type;
  setup.compute = compute;
  setup.scale = scale;
  Call call(cuda, setup);
  const Address a = cuda.on_card(counted<T>(12)), b = cuda.on_card(counted<T>(8)),
                d = cuda.on_card(counted<T>(6));
  KILN_MUST(call.find() == kCublasSuccess);
  if (scale == kRealF64) {
    KILN_MUST(call.run(1.0, a, b, 0.0, d, d) == kCublasSuccess);
  } else {
    KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d) == kCublasSuccess);
  }
  KILN_MUST(widened(cuda.read<T>(d, 6)) == counted_product());
  return "";
}

}  // namespace

TEST_CASE("products of all types", "[fake_products]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) {
          return product_of<float>(cuda, kRealF32, kComputeF32, kRealF32) +
                 product_of<float>(cuda, kRealF32, kComputeFastTf32, kRealF32) +
                 product_of<double>(cuda, kRealF64, kComputeF64, kRealF64) +
                 product_of<kiln::Half>(cuda, kRealF16, kComputeF32, kRealF32) +
                 product_of<kiln::BFloat16>(cuda, kRealBf16, kComputeF32, kRealF32);
        }) == "");
}

TEST_CASE("transposes, leading dimensions, batches, a bias and C", "[fake_products]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          Setup setup = plain();
          setup.transpose_a = setup.transpose_b = kTransposed;
          setup.a = {kRealF32, kDepth, kRows, 4, 2, 12};
          setup.b = {kRealF32, kColumns, kDepth, 2, 2, 0};
          setup.c = {kRealF32, kRows, kColumns, 3, 2, 6};
          setup.d = {kRealF32, kRows, kColumns, 5, 2, 11};
          setup.bias = cuda.on_card(std::vector<float>{100, 200, 300});
          Call call(cuda, setup);
          std::vector<float> a = transposed(counted<float>(12), 3), b = transposed(counted<float>(8), 4);
          for (int i = 0; i < 12; ++i) a.push_back(-a[static_cast<std::size_t>(i)]);
          const Address c = cuda.on_card(counted<float>(12)), d = cuda.on_card(std::vector<float>(22, -1.0F));
          KILN_MUST(call.find() == kCublasSuccess && call.found.workspace_bytes == 0);
          KILN_MUST(call.run(2.0F, cuda.on_card(a), cuda.on_card(b), 0.5F, c, d) == kCublasSuccess);
          const std::vector<float> result = cuda.read<float>(d, 22), expected = counted_product();
          std::vector<float> all(22, -1.0F);
          for (std::size_t i = 0; i < 12; ++i) {
            const std::size_t batch = i / 6, row = i % 3, column = i / 3 % 2;
            const float sum = batch == 0 ? expected[i % 6] : -expected[i % 6];
            all[11 * batch + 5 * column + row] =
                2 * sum + 0.5F * static_cast<float>(i + 1) + 100 * static_cast<float>(row + 1);
          }
          KILN_MUST(result == all);
          return "";
        }) == "");
}

TEST_CASE("tf32 keeps ten bits of each factor", "[fake_products]") {
  const auto product = [](int compute) {
    return with_cuda({}, [&](const Cuda& cuda) -> std::string {
      Setup setup;
      setup.a = setup.b = setup.c = setup.d = {kRealF32, 1, 1, 1};
      setup.compute = compute;
      Call call(cuda, setup);
      const Address x = cuda.on_card(std::vector<float>{1 + 0x1p-12F}),
                    one = cuda.on_card(std::vector<float>{1}), d = cuda.on_card(std::vector<float>{0});
      KILN_MUST(call.find() == kCublasSuccess && call.run(1.0F, x, one, 0.0F, d, d) == kCublasSuccess);
      return cuda.read<float>(d, 1)[0] == 1 ? "rounded" : "exact";
    });
  };
  CHECK(product(kComputeF32) == "exact");
  CHECK(product(kComputeFastTf32) == "rounded");
}

TEST_CASE("products are work of a stream", "[fake_products]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          const FunctionHandle f = cuda.kernel(R"(extern "C" __global__ void f(volatile int* flag, float* x) {
  while (*flag == 0) __nanosleep(100);
  *x = 1;
})");
          void* flag = nullptr;
          KILN_MUST(cuda.api.cuMemHostAlloc(&flag, 4, 0) == kSuccess);
          *static_cast<int*>(flag) = 0;
          Call call(cuda, plain());
          const Address a = cuda.on_card(std::vector<float>(12)), b = cuda.on_card(counted<float>(8)),
                        d = cuda.on_card(counted<float>(6));
          KILN_MUST(cuda.launch(f, {}, flag, a) == kSuccess && call.find() == kCublasSuccess);
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d) == kCublasSuccess);
          KILN_MUST(cuda.api.cuMemFreeAsync(a, nullptr) == kSuccess);
          KILN_MUST(cuda.api.cuStreamQuery(nullptr) == kNotReady);
          *static_cast<volatile int*>(flag) = 1;
          KILN_MUST(cuda.read<float>(d, 6) == std::vector<float>{1, 0, 0, 5, 0, 0});
          return "";
        }) == "");
}

TEST_CASE("what is wrong with a product is refused", "[fake_products]") {
  const auto found = [](const std::function<void(Setup&)>& change) {
    return with_cuda({}, [&](const Cuda& cuda) {
      Setup setup = plain();
      change(setup);
      return std::to_string(Call(cuda, setup).find());
    });
  };
  const std::string invalid = std::to_string(kCublasInvalidValue),
                    unknown = std::to_string(kCublasNotSupported);
  CHECK(found([](Setup&) {}) == "0");
  CHECK(found([](Setup& setup) { setup.a.leading = 2; }) == invalid);
  CHECK(found([](Setup& setup) { setup.b.rows = 5; }) == invalid);
  CHECK(found([](Setup& setup) { setup.d.columns = 3; }) == invalid);
  CHECK(found([](Setup& setup) { setup.a.batch = 2; }) == invalid);
  CHECK(found([](Setup& setup) { setup.transpose_b = kTransposed; }) == invalid);
  CHECK(found([](Setup& setup) { setup.b.type = kRealF16; }) == unknown);
  CHECK(found([](Setup& setup) { setup.compute = kComputeF64; }) == unknown);
  CHECK(found([](Setup& setup) { setup.scale = kRealF64; }) == unknown);
}

TEST_CASE("operands, workspace and algorithm must fit", "[fake_products]") {
  CHECK(with_cuda({}, [](const Cuda& cuda) -> std::string {
          Setup setup = plain();
          setup.alignment = 16;
          setup.workspace = 1 << 20;
          Call call(cuda, setup);
          const Address a = cuda.on_card(counted<float>(16)), b = cuda.on_card(counted<float>(8)),
                        d = cuda.on_card(counted<float>(6));
          KILN_MUST(call.find() == kCublasSuccess);
          const std::size_t bytes = call.found.workspace_bytes;
          KILN_MUST(bytes > 0);
          const Address workspace = cuda.on_card(std::vector<char>(bytes));
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d, workspace, bytes) == kCublasSuccess);
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d, workspace, bytes - 1) == kCublasInvalidValue);
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d, 0, bytes) == kCublasInvalidValue);
          KILN_MUST(call.run(1.0F, a + 4, b, 0.0F, d, d, workspace, bytes) == kCublasInvalidValue);
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, 0, workspace, bytes) == kCublasInvalidValue);
          MatmulHeuristic good = call.found;
          call.found.algorithm.data[0] = 0;
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d, workspace, bytes) == kCublasInvalidValue);
          call.found = good;
          int tile = 0;
          std::size_t written = 0;
          KILN_MUST(cuda.cublaslt.cublasLtMatmulAlgoConfigGetAttribute(
                        &good.algorithm, kAlgorithmSplitK, &tile, sizeof tile, &written) == kCublasSuccess);
          KILN_MUST(tile == 1 && written == sizeof tile);
          const float half = 0;
          KILN_MUST(cuda.cublaslt.cublasLtMatmulDescSetAttribute(call.description, kProductEpilogue, &half,
                                                                 2) == kCublasInvalidValue);
          // A wrong address is found when the work is done.
          Result result = kSuccess;
          const std::string told = stderr_of([&] {
            if (call.run(1.0F, a, b + 16, 0.0F, d, d, workspace, bytes) == kCublasSuccess)
              result = cuda.api.cuCtxSynchronize();
          });
          KILN_MUST(told == "fake CUDA: cublasLtMatmul: B is not in one block of memory of the card\n");
          KILN_MUST(result == kIllegalAddress);
          KILN_MUST(call.run(1.0F, a, b, 0.0F, d, d, workspace, bytes) == kCublasExecutionFailed);
          KILN_MUST(cuda.cublaslt.cublasLtDestroy(call.handle) == kCublasSuccess);
          KILN_MUST(call.find() == kCublasNotInitialized);
          return "";
        }) == "");
}

}  // namespace kiln::fake_products_test
