// The fake cublasLt: it has a version, and computes nothing yet.
#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

CublasResult refuse(std::string_view entry) {
  if (const int set = count_call(entry); set != 0) return set;
  tell_missing(entry);
  return kCublasNotSupported;
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
    case kCublasInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kCublasNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown";
  }
}

CublasResult cublasLtCreate(Cublas*) { return refuse("cublasLtCreate"); }
CublasResult cublasLtDestroy(Cublas) { return refuse("cublasLtDestroy"); }
CublasResult cublasLtMatmul(Cublas, MatmulDesc, const void*, const void*, MatrixLayout, const void*,
                            MatrixLayout, const void*, const void*, MatrixLayout, void*, MatrixLayout,
                            const MatmulAlgorithm*, void*, std::size_t, StreamHandle) {
  return refuse("cublasLtMatmul");
}
CublasResult cublasLtMatmulDescCreate(MatmulDesc*, int, int) { return refuse("cublasLtMatmulDescCreate"); }
CublasResult cublasLtMatmulDescDestroy(MatmulDesc) { return refuse("cublasLtMatmulDescDestroy"); }
CublasResult cublasLtMatmulDescSetAttribute(MatmulDesc, int, const void*, std::size_t) {
  return refuse("cublasLtMatmulDescSetAttribute");
}
CublasResult cublasLtMatrixLayoutCreate(MatrixLayout*, int, std::uint64_t, std::uint64_t, std::int64_t) {
  return refuse("cublasLtMatrixLayoutCreate");
}
CublasResult cublasLtMatrixLayoutDestroy(MatrixLayout) { return refuse("cublasLtMatrixLayoutDestroy"); }
CublasResult cublasLtMatrixLayoutSetAttribute(MatrixLayout, int, const void*, std::size_t) {
  return refuse("cublasLtMatrixLayoutSetAttribute");
}
CublasResult cublasLtMatmulPreferenceCreate(MatmulPreference*) {
  return refuse("cublasLtMatmulPreferenceCreate");
}
CublasResult cublasLtMatmulPreferenceDestroy(MatmulPreference) {
  return refuse("cublasLtMatmulPreferenceDestroy");
}
CublasResult cublasLtMatmulPreferenceSetAttribute(MatmulPreference, int, const void*, std::size_t) {
  return refuse("cublasLtMatmulPreferenceSetAttribute");
}
CublasResult cublasLtMatmulAlgoGetHeuristic(Cublas, MatmulDesc, MatrixLayout, MatrixLayout, MatrixLayout,
                                            MatrixLayout, MatmulPreference, int, MatmulHeuristic*, int*) {
  return refuse("cublasLtMatmulAlgoGetHeuristic");
}
CublasResult cublasLtMatmulAlgoConfigGetAttribute(const MatmulAlgorithm*, int, void*, std::size_t,
                                                  std::size_t*) {
  return refuse("cublasLtMatmulAlgoConfigGetAttribute");
}

}  // extern "C"
}  // namespace kiln::cuda
