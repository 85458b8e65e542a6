// Owns the way to the matrix libraries: oneDNN and OpenBLAS are opened at the first product, not at process
// start.
#pragma once

#include <cstdint>

namespace kiln::cpu {

// Row-major `c = a b` with `a` read transposed when `transpose_a`; one thread; c's rows are `ldc` apart.
template <class T>
using GemmFn = void (*)(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                        const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc);

// Null when the library is not installed.
GemmFn<float> library_sgemm();
GemmFn<double> library_dgemm();

// OpenBLAS, opened at the first call and set to one thread: callers split the work themselves, so that how
// many threads there are changes no result. Null when it is not installed.
void* openblas();

}  // namespace kiln::cpu
