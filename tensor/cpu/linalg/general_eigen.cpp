// Eigenvalues and eigenvectors of general matrices, by the library's driver.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/cpu/linalg/spectral.h"

namespace kiln::cpu {

namespace {

// Of real matrices.
template <class T>
class GeneralEigen {
 public:
  GeneralEigen(int n, bool vectors, Scratch& memory) : job_(vectors ? 'V' : 'N'), n_(n), memory_(&memory) {
    const std::int64_t area = std::int64_t{n} * n;
    a_ = memory.take<T>(area);
    real_ = memory.take<T>(n);
    imaginary_ = memory.take<T>(n);
    vectors_ = memory.take<T>(vectors ? area : 1);
    T best = 0;
    call(&best, -1);
    size_ = workspace_size(best);
    work_ = memory.take<T>(size_);
  }
  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, n_, n_, a_);
    if (!std::isfinite(largest_magnitude(a_, std::int64_t{n_} * n_))) return kNotFinite;
    return call_library(*memory_, 25.0 * n_ * n_ * n_,
                        [self = *this] { return self.call(self.work_, self.size_); });
  }
  void write_values(T* real, T* imaginary) const {
    std::copy_n(real_, n_, real);
    std::copy_n(imaginary_, n_, imaginary);
  }
  // Row-major. The second one of a pair of conjugate values has the conjugate vector.
  void write_vectors(T* real, T* imaginary) const {
    for (int j = 0; j < n_; ++j) {
      const bool second = imaginary_[j] < 0;
      const T* const part = vectors_ + std::int64_t{j - (second ? 1 : 0)} * n_;
      const bool is_real = imaginary_[j] == 0;
      const T turn = turn_of(part, is_real), sign = second ? -turn : turn;
      for (std::int64_t i = 0; i < n_; ++i) {
        real[i * n_ + j] = turn * part[i];
        imaginary[i * n_ + j] = is_real ? T(0) : sign * part[n_ + i];
      }
    }
  }

 private:
  // What makes the largest element, which is real, positive: so vectors have one sign in every precision.
  T turn_of(const T* part, bool is_real) const {
    T most = -1, turn = 1;
    for (int i = 0; i < n_; ++i) {
      const T beside = is_real ? T(0) : part[n_ + i];
      const T size = part[i] * part[i] + beside * beside;
      if (!(size > most)) continue;
      most = size;
      turn = part[i] < 0 ? T(-1) : T(1);
    }
    return turn;
  }
  int call(T* work, int size) const {
    return Lapack<T>::get().geev(job_, n_, a_, n_, real_, imaginary_, vectors_, n_, work, size, nullptr);
  }
  char job_;
  int n_;
  int size_ = 0;
  T *a_, *real_, *imaginary_, *vectors_;
  T* work_ = nullptr;
  Scratch* memory_;
};

// Of complex matrices.
template <class T>
class ComplexEigen {
 public:
  using Real = RealOf<T>;

  ComplexEigen(int n, bool vectors, Scratch& memory) : job_(vectors ? 'V' : 'N'), n_(n), memory_(&memory) {
    const std::int64_t area = std::int64_t{n} * n;
    a_ = memory.take<T>(area);
    values_ = memory.take<T>(n);
    vectors_ = memory.take<T>(vectors ? area : 1);
    reals_ = memory.take<Real>(std::int64_t{2} * n);
    T best = 0;
    call(&best, -1);
    size_ = workspace_size(best);
    work_ = memory.take<T>(size_);
  }
  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, n_, n_, a_);
    if (!std::isfinite(largest_magnitude(a_, std::int64_t{n_} * n_))) return kNotFinite;
    return call_library(*memory_, 100.0 * n_ * n_ * n_,
                        [self = *this] { return self.call(self.work_, self.size_); });
  }
  void write_values(Real* real, Real* imaginary) const {
    for (int j = 0; j < n_; ++j) real[j] = values_[j].real(), imaginary[j] = values_[j].imag();
  }
  // Row-major.
  void write_vectors(Real* real, Real* imaginary) {
    for (int j = 0; j < n_; ++j) {
      T* const column = vectors_ + std::int64_t{j} * n_;
      settle_phase(column, n_);
      for (std::int64_t i = 0; i < n_; ++i) {
        real[i * n_ + j] = column[i].real();
        imaginary[i * n_ + j] = column[i].imag();
      }
    }
  }

 private:
  int call(T* work, int size) const {
    return Lapack<T>::get().geev(job_, n_, a_, n_, values_, nullptr, vectors_, n_, work, size, reals_);
  }
  char job_;
  int n_;
  int size_ = 0;
  T *a_, *values_, *vectors_;
  Real* reals_;
  T* work_ = nullptr;
  Scratch* memory_;
};

}  // namespace

Factored eig(const EigenParts& out, const Tensor& a) {
  const bool vectors = static_cast<bool>(out.vectors_real);
  return with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int n = matrices.rows();
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    if (n == 0) return first_failure(infos);
    using Real = RealOf<T>;
    using Eigen = std::conditional_t<kParts<T> == 1, GeneralEigen<Real>, ComplexEigen<T>>;
    Real *const real = out.real.writable<Real>(), *const imaginary = out.imaginary.writable<Real>();
    Real* const vectors_real = vectors ? out.vectors_real.writable<Real>() : nullptr;
    Real* const vectors_imaginary = vectors ? out.vectors_imaginary.writable<Real>() : nullptr;
    each_matrix(matrices.count(), 25.0 * n * n * n, [&](Scratch& memory) {
      return [&, n, eigen = Eigen(n, vectors, memory)](std::int64_t i) mutable {
        int& info = infos[static_cast<std::size_t>(i)];
        info = eigen.factorize(matrices.view(i));
        if (info != 0) return;
        eigen.write_values(real + i * n, imaginary + i * n);
        if (vectors) eigen.write_vectors(vectors_real + i * n * n, vectors_imaginary + i * n * n);
      };
    });
    return first_failure(infos);
  });
}

}  // namespace kiln::cpu
