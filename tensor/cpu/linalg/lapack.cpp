#include "tensor/cpu/linalg/lapack.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "tensor/cpu/shared_library.h"
#include "tensor/error.h"

namespace kiln::cpu {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw OpError(ErrorKind::IO, "factorizations of matrices need the library OpenBLAS: " + what, {},
                "install it: the Debian package is libopenblas0-pthread");
}

// Opened at the first call and set to one thread: callers split the work themselves, so that how many threads
// there are changes no result. Null when it is not installed.
void* openblas() {
  static void* const library = [] {
    void* const opened = open_library({"libopenblas.so.0", "libopenblas.so"});
    if (const auto set_threads = symbol<void (*)(int)>(opened, "openblas_set_num_threads")) set_threads(1);
    return opened;
  }();
  return library;
}

}  // namespace

template <class T>
Lapack<T>::Lapack(void* library) {
  if (library == nullptr) refuse("it is not there");
  constexpr bool kIsReal = std::is_same_v<T, Real>;
  constexpr bool kIsSingle = std::is_same_v<Real, float>;
  const std::string precision = kIsReal ? (kIsSingle ? "s" : "d") : (kIsSingle ? "c" : "z");
  const auto find = [&](auto& routine, const std::string& name) {
    const std::string symbol = precision + name + "_";
    routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(dlsym(library, symbol.c_str()));
    if (routine == nullptr) refuse("the one installed has no " + symbol);
  };
  find(trsm_, "trsm");
  find(getrf_, "getrf");
  find(geev_, "geev");
  find(potrf_, "potrf");
  find(geqrf_, "geqrf");
  find(orgqr_, kIsReal ? "orgqr" : "ungqr");
  find(gesdd_, "gesdd");
  find(syevd_, kIsReal ? "syevd" : "heevd");
}

template <class T>
const Lapack<T>& Lapack<T>::get() {
  static const Lapack routines(openblas());
  return routines;
}

template <class T>
void Lapack<T>::trsm(char side, char triangle, char transposed, char diagonal, int m, int n, const T* a,
                     int lda, T* b, int ldb) const {
  const T one = 1;
  trsm_(&side, &triangle, &transposed, &diagonal, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

template <class T>
int Lapack<T>::getrf(int m, int n, T* a, int lda, int* pivots) const {
  int info = 0;
  getrf_(&m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
int Lapack<T>::geev(char job, int n, T* a, int lda, T* values, [[maybe_unused]] T* imaginary, T* vectors,
                    int ldv, T* work, int size, [[maybe_unused]] Real* reals) const {
  int info = 0;
  const char none = 'N';
  const int one = 1;
  if constexpr (std::is_same_v<T, Real>) {
    geev_(&none, &job, &n, a, &lda, values, imaginary, nullptr, &one, vectors, &ldv, work, &size, &info, 1,
          1);
  } else {
    geev_(&none, &job, &n, a, &lda, values, nullptr, &one, vectors, &ldv, work, &size, reals, &info, 1, 1);
  }
  return info;
}

template <class T>
int Lapack<T>::potrf(char triangle, int n, T* a, int lda) const {
  int info = 0;
  potrf_(&triangle, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
int Lapack<T>::geqrf(int m, int n, T* a, int lda, T* tau, T* work, int size) const {
  int info = 0;
  geqrf_(&m, &n, a, &lda, tau, work, &size, &info);
  return info;
}

template <class T>
int Lapack<T>::orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int size) const {
  int info = 0;
  orgqr_(&m, &n, &k, a, &lda, tau, work, &size, &info);
  return info;
}

template <class T>
int Lapack<T>::gesdd(char job, int m, int n, T* a, int lda, Real* s, T* u, int ldu, T* vh, int ldvh, T* work,
                     int size, [[maybe_unused]] Real* reals, int* integers) const {
  int info = 0;
  if constexpr (std::is_same_v<T, Real>) {
    gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vh, &ldvh, work, &size, integers, &info, 1);
  } else {
    gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vh, &ldvh, work, &size, reals, integers, &info, 1);
  }
  return info;
}

template <class T>
int Lapack<T>::syevd(char job, char triangle, int n, T* a, int lda, Real* values, T* work, int size,
                     [[maybe_unused]] Real* reals, [[maybe_unused]] int reals_size, int* integers,
                     int integers_size) const {
  int info = 0;
  if constexpr (std::is_same_v<T, Real>) {
    syevd_(&job, &triangle, &n, a, &lda, values, work, &size, integers, &integers_size, &info, 1, 1);
  } else {
    syevd_(&job, &triangle, &n, a, &lda, values, work, &size, reals, &reals_size, integers, &integers_size,
           &info, 1, 1);
  }
  return info;
}

template class Lapack<float>;
template class Lapack<double>;
template class Lapack<std::complex<float>>;
template class Lapack<std::complex<double>>;

}  // namespace kiln::cpu
