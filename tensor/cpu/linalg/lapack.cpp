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
  const auto find = [library](auto& routine, const std::string& name) {
    const std::string symbol = (std::is_same_v<T, float> ? "s" : "d") + name + "_";
    routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(dlsym(library, symbol.c_str()));
    if (routine == nullptr) refuse("the one installed has no " + symbol);
  };
  find(trsm_, "trsm");
  find(getrf_, "getrf");
  find(geev_, "geev");
  find(potrf_, "potrf");
  find(geqrf_, "geqrf");
  find(orgqr_, "orgqr");
  find(gesdd_, "gesdd");
  find(syevd_, "syevd");
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
int Lapack<T>::geev(char job, int n, T* a, int lda, T* real, T* imaginary, T* vectors, int ldv, T* work,
                    int size) const {
  int info = 0;
  const char none = 'N';
  const int one = 1;
  geev_(&none, &job, &n, a, &lda, real, imaginary, nullptr, &one, vectors, &ldv, work, &size, &info, 1, 1);
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
int Lapack<T>::gesdd(char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vh, int ldvh, T* work,
                     int size, int* integers) const {
  int info = 0;
  gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vh, &ldvh, work, &size, integers, &info, 1);
  return info;
}

template <class T>
int Lapack<T>::syevd(char job, char triangle, int n, T* a, int lda, T* values, T* work, int size,
                     int* integers, int integers_size) const {
  int info = 0;
  syevd_(&job, &triangle, &n, a, &lda, values, work, &size, integers, &integers_size, &info, 1, 1);
  return info;
}

template class Lapack<float>;
template class Lapack<double>;

}  // namespace kiln::cpu
