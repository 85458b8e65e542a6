// The fake cublasLt: products of matrices as plain loops, which it gives to the streams of the fake driver.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "tests/cuda/fake/driver_door.h"
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/live_handles.h"
#include "tests/cuda/fake/product.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {

struct CublasData {};

namespace {

using namespace kiln::fake;

struct Driver {
  GiveForeignWork give = nullptr;
  IsOnCard is_on_card = nullptr;
};

// The fake driver, which is there before any stream is.
const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    void* const library = dlopen(KILN_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
      std::fprintf(stderr, "fake CUDA: cublasLt works with the fake driver alone\n");
      return made;
    }
    made.give = reinterpret_cast<GiveForeignWork>(dlsym(library, "kiln_fake_give"));
    made.is_on_card = reinterpret_cast<IsOnCard>(dlsym(library, "kiln_fake_is_on_card"));
    return made;
  }();
  return found;
}

// What runs on a stream.
struct GivenProduct {
  Product product;
  Operands operands;
  void* workspace;
  std::uint64_t workspace_bytes;
  std::string problem;
};

bool is_on_card(const void* place, std::size_t bytes) {
  return driver().is_on_card(reinterpret_cast<Address>(place), bytes);
}

// Memory is looked at when the work is done: until then a wrong address is no error.
const char* run(void* data) {
  auto& given = *static_cast<GivenProduct*>(data);
  const Product& product = given.product;
  const auto misses = [&](const char* what, const void* place, std::size_t bytes) {
    if (is_on_card(place, bytes)) return false;
    given.problem = std::string("cublasLtMatmul: ") + what + " is not in one block of memory of the card";
    return true;
  };
  if (misses("A", given.operands.a, bytes_of(product.a)) ||
      misses("B", given.operands.b, bytes_of(product.b)) ||
      (given.operands.beta != 0 && misses("C", given.operands.c, bytes_of(product.c))) ||
      misses("D", given.operands.d, bytes_of(product.d)) ||
      (given.workspace_bytes > 0 && misses("the workspace", given.workspace, given.workspace_bytes)))
    return given.problem.c_str();
  constexpr int kUsed = 0xEE;
  if (given.workspace_bytes > 0) std::memset(given.workspace, kUsed, given.workspace_bytes);
  compute(product, given.operands);
  return nullptr;
}

double number_at(const void* place, int type) {
  return type == kRealF64 ? *static_cast<const double*>(place)
                          : static_cast<double>(*static_cast<const float*>(place));
}

// What cublasLtMatmul does after it found that its arguments are there.
CublasResult give(const Product& product, Operands operands, const Algorithm& algorithm, void* workspace,
                  std::size_t workspace_bytes, StreamHandle stream) {
  if (const CublasResult refused = check(product); refused != kCublasSuccess) return refused;
  if (const CublasResult refused = check(algorithm, product, operands); refused != kCublasSuccess)
    return refused;
  const MatmulDescData& how = product.description;
  if (how.epilogue == kEpilogueBias && how.bias == nullptr) return kCublasInvalidValue;
  if (workspace_bytes < algorithm.workspace || (algorithm.workspace > 0 && workspace == nullptr))
    return kCublasInvalidValue;
  constexpr std::uintptr_t kWorkspaceAlignment = 16;
  if (reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment != 0) return kCublasInvalidValue;
  auto* const given = new GivenProduct{product, operands, workspace, algorithm.workspace, ""};
  const auto release = [](void* data) { delete static_cast<GivenProduct*>(data); };
  return driver().give(stream, {run, release, given}) == kSuccess ? kCublasSuccess : kCublasExecutionFailed;
}

}  // namespace

extern "C" {

// It gives no error but 0.
std::size_t cublasLtGetVersion() {
  if (count_call("cublasLtGetVersion") != 0) return 0;
  return static_cast<std::size_t>(number_setting("KILN_FAKE_CUBLASLT_VERSION", 130000));
}

const char* cublasLtGetStatusString(CublasResult status) {
  switch (status) {
    case kCublasSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kCublasNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kCublasAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kCublasInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kCublasExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kCublasNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown";
  }
}

CublasResult cublasLtCreate(Cublas* handle) {
  if (const int set = count_call("cublasLtCreate"); set != 0) return set;
  if (handle == nullptr) return kCublasInvalidValue;
  if (driver().give == nullptr) return kCublasNotInitialized;
  *handle = live<CublasData>().add(new CublasData);
  return kCublasSuccess;
}

CublasResult cublasLtDestroy(Cublas handle) {
  if (const int set = count_call("cublasLtDestroy"); set != 0) return set;
  return live<CublasData>().remove(handle) ? kCublasSuccess : kCublasNotInitialized;
}

CublasResult cublasLtMatmul(Cublas handle, MatmulDesc description, const void* alpha, const void* a,
                            MatrixLayout a_layout, const void* b, MatrixLayout b_layout, const void* beta,
                            const void* c, MatrixLayout c_layout, void* d, MatrixLayout d_layout,
                            const MatmulAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                            StreamHandle stream) {
  if (const int set = count_call("cublasLtMatmul"); set != 0) return set;
  if (!live<CublasData>().has(handle)) return kCublasNotInitialized;
  if (!live<MatmulDescData>().has(description) || alpha == nullptr || beta == nullptr || a == nullptr ||
      b == nullptr || d == nullptr)
    return kCublasInvalidValue;
  for (const MatrixLayout layout : {a_layout, b_layout, c_layout, d_layout}) {
    if (!live<MatrixLayoutData>().has(layout)) return kCublasInvalidValue;
  }
  const Product product{*description, *a_layout, *b_layout, *c_layout, *d_layout};
  const Operands operands{
      a, b, c, d, number_at(alpha, description->scale), number_at(beta, description->scale)};
  if (operands.beta != 0 && c == nullptr) return kCublasInvalidValue;
  // Without an algorithm it asks itself for one that takes what it is given.
  MatmulPreferenceData any;
  any.workspace = workspace_bytes;
  any.alignment_a = any.alignment_b = any.alignment_c = any.alignment_d = 0;
  Algorithm chosen = algorithm_for(product, any);
  if (algorithm != nullptr) std::memcpy(&chosen, algorithm, sizeof chosen);
  return give(product, operands, chosen, workspace, workspace_bytes, stream);
}

CublasResult cublasLtMatmulAlgoGetHeuristic(Cublas handle, MatmulDesc description, MatrixLayout a,
                                            MatrixLayout b, MatrixLayout c, MatrixLayout d,
                                            MatmulPreference preference, int most, MatmulHeuristic* found,
                                            int* count) {
  if (const int set = count_call("cublasLtMatmulAlgoGetHeuristic"); set != 0) return set;
  if (!live<CublasData>().has(handle)) return kCublasNotInitialized;
  if (!live<MatmulDescData>().has(description) || !live<MatmulPreferenceData>().has(preference) || most < 1 ||
      found == nullptr || count == nullptr)
    return kCublasInvalidValue;
  for (const MatrixLayout layout : {a, b, c, d}) {
    if (!live<MatrixLayoutData>().has(layout)) return kCublasInvalidValue;
  }
  *count = 0;
  const Product product{*description, *a, *b, *c, *d};
  if (const CublasResult refused = check(product); refused != kCublasSuccess) return refused;
  const Algorithm algorithm = algorithm_for(product, *preference);
  *found = MatmulHeuristic{};
  std::memcpy(&found->algorithm, &algorithm, sizeof algorithm);
  found->workspace_bytes = algorithm.workspace;
  found->waves = 1;
  *count = 1;
  return kCublasSuccess;
}

CublasResult cublasLtMatmulAlgoCheck(Cublas handle, MatmulDesc description, MatrixLayout a, MatrixLayout b,
                                     MatrixLayout c, MatrixLayout d, const MatmulAlgorithm* algorithm,
                                     MatmulHeuristic* found) {
  if (const int set = count_call("cublasLtMatmulAlgoCheck"); set != 0) return set;
  if (!live<CublasData>().has(handle)) return kCublasNotInitialized;
  if (!live<MatmulDescData>().has(description) || algorithm == nullptr || found == nullptr)
    return kCublasInvalidValue;
  for (const MatrixLayout layout : {a, b, c, d}) {
    if (!live<MatrixLayoutData>().has(layout)) return kCublasInvalidValue;
  }
  const Product product{*description, *a, *b, *c, *d};
  if (const CublasResult refused = check(product); refused != kCublasSuccess) return refused;
  Algorithm chosen{};
  std::memcpy(&chosen, algorithm, sizeof chosen);
  *found = MatmulHeuristic{};
  found->algorithm = *algorithm;
  found->workspace_bytes = chosen.workspace;
  return check(chosen, product, {});
}

}  // extern "C"
}  // namespace kiln::cuda
