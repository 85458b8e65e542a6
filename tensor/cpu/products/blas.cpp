#include "tensor/cpu/products/blas.h"

#include "tensor/cpu/shared_library.h"
#include "tensor/held_signals.h"

namespace kiln::cpu {

namespace {

// The C interfaces as dnnl.h and cblas.h declare them; stated here so that no library is needed to build.
using Sgemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                      const float*, std::int64_t, float, float*, std::int64_t);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                       double*, int);
using SetThreads = void (*)(int);
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;

Sgemm sgemm = nullptr;
Dgemm dgemm = nullptr;

void call_sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c,
                std::int64_t ldc) {
  const OneThread one;
  const HeldSignals held;  // as for Primitive::run
  sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0F, a, lda, b, ldb, 0.0F, c, ldc);
}

void call_dgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                std::int64_t ldc) {
  dgemm(kRowMajor, transpose_a ? kTranspose : kNoTranspose, transpose_b ? kTranspose : kNoTranspose,
        static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1.0, a, static_cast<int>(lda), b,
        static_cast<int>(ldb), 0.0, c, static_cast<int>(ldc));
}

GemmFn<float> load_sgemm() {
  sgemm = symbol<Sgemm>(open_library({"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"}), "dnnl_sgemm");
  return sgemm ? call_sgemm : nullptr;
}

void* load_openblas() {
  void* library = open_library({"libopenblas.so.0", "libopenblas.so"});
  if (const auto set_threads = symbol<SetThreads>(library, "openblas_set_num_threads")) set_threads(1);
  return library;
}

GemmFn<double> load_dgemm() {
  dgemm = symbol<Dgemm>(openblas(), "cblas_dgemm");
  return dgemm ? call_dgemm : nullptr;
}

}  // namespace

void* openblas() {
  static void* const library = load_openblas();
  return library;
}

GemmFn<float> library_sgemm() {
  static const GemmFn<float> loaded = load_sgemm();
  return loaded;
}

GemmFn<double> library_dgemm() {
  static const GemmFn<double> loaded = load_dgemm();
  return loaded;
}

}  // namespace kiln::cpu
