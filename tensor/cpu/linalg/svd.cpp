// Singular values.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/cpu/linalg/spectral.h"

namespace kiln::cpu {

namespace {

// By the library's driver.
template <class T>
class Svd {
 public:
  Svd(int m, int n, bool vectors, Scratch& memory)
      : job_(vectors ? 'S' : 'N'), m_(m), n_(n), k_(std::min(m, n)), memory_(&memory) {
    a_ = memory.take<T>(std::int64_t{m} * n);
    s_ = memory.take<RealOf<T>>(k_);
    u_ = memory.take<T>(vectors ? std::int64_t{m} * k_ : 1);
    vh_ = memory.take<T>(vectors ? std::int64_t{k_} * n : 1);
    integers_ = memory.take<int>(std::int64_t{8} * k_);
    if constexpr (kParts<T> == 2) reals_ = memory.take<RealOf<T>>(reals_size());
    if (k_ == 0) return;
    T best = 0;
    call(&best, -1);
    size_ = workspace_size(best);
    work_ = memory.take<T>(size_);
  }
  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, m_, n_, a_);
    if (k_ == 0) return 0;
    if (!std::isfinite(largest_magnitude(a_, std::int64_t{m_} * n_))) return kNotFinite;
    return call_library(*memory_, 4.0 * m_ * n_ * k_,
                        [self = *this] { return self.call(self.work_, self.size_); });
  }
  const RealOf<T>* values() const { return s_; }
  void write_vectors(T* to_u, T* to_vh) {
    if constexpr (kParts<T> == 2) settle_phases();
    write_matrix(u_, m_, m_, k_, to_u);
    write_matrix(vh_, k_, k_, n_, to_vh);
  }

 private:
  int call(T* work, int size) const {
    return Lapack<T>::get().gesdd(job_, m_, n_, a_, m_, s_, u_, m_, vh_, k_, work, size, reals_, integers_);
  }
  // What every release of LAPACK asks for, of complex matrices.
  std::int64_t reals_size() const {
    const std::int64_t less = k_, more = std::max(m_, n_);
    return job_ == 'N' ? 7 * less : less * std::max(5 * less + 7, 2 * more + 2 * less + 1);
  }
  // A column of u and its row of vh turn against one another.
  void settle_phases() {
    for (std::int64_t j = 0; j < k_; ++j) {
      const T back = conjugated(settle_phase(u_ + j * m_, m_));
      for (std::int64_t i = 0; i < n_; ++i) vh_[j + i * k_] *= back;
    }
  }
  char job_;
  int m_, n_, k_;
  int size_ = 0;
  T *a_, *u_, *vh_;
  RealOf<T>* s_;
  T* work_ = nullptr;
  RealOf<T>* reals_ = nullptr;
  int* integers_;
  Scratch* memory_;
};

}  // namespace

Factored svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& a) {
  const bool vectors = static_cast<bool>(u);
  return with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int m = matrices.rows();
    const int n = matrices.columns();
    const int k = std::min(m, n);
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* to_u = vectors ? u.writable<T>() : nullptr;
    auto* to_s = s.writable<RealOf<T>>();
    T* to_vh = vectors ? vh.writable<T>() : nullptr;
    each_matrix(matrices.count(), 10.0 * m * n * (k + 1), [&](Scratch& memory) {
      return [&, m, n, k, svd = Svd<T>(m, n, vectors, memory)](std::int64_t i) mutable {
        int& info = infos[static_cast<std::size_t>(i)];
        info = svd.factorize(matrices.view(i));
        if (info != 0) return;
        std::copy_n(svd.values(), k, to_s + i * k);
        if (vectors) svd.write_vectors(to_u + i * m * k, to_vh + i * k * n);
      };
    });
    return first_failure(infos);
  });
}

}  // namespace kiln::cpu
