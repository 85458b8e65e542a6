// Singular values and eigenvalues by divide and conquer.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/factor.h"
#include "tensor/cpu/lapack.h"
#include "tensor/cpu/matrices.h"

namespace kiln::cpu {

namespace {

constexpr int kNotFinite = -1;

// The library may not come back from matrices with infinities or nans.
template <class T>
bool all_finite(const T* a, std::int64_t count) {
  return std::all_of(a, a + count, [](T x) { return std::isfinite(x); });
}

template <class T>
class Svd {
 public:
  Svd(int m, int n, bool vectors, Scratch& memory)
      : job_(vectors ? 'S' : 'N'), m_(m), n_(n), k_(std::min(m, n)) {
    a_ = memory.take<T>(std::int64_t{m} * n);
    s_ = memory.take<T>(k_);
    u_ = memory.take<T>(vectors ? std::int64_t{m} * k_ : 1);
    vh_ = memory.take<T>(vectors ? std::int64_t{k_} * n : 1);
    integers_ = memory.take<int>(std::int64_t{8} * k_);
    if (k_ == 0) return;
    T best = 0;
    call(&best, -1);
    size_ = workspace_size(best);
    work_ = memory.take<T>(size_);
  }
  T* matrix() { return a_; }
  int factorize() {
    if (k_ == 0) return 0;
    return all_finite(a_, std::int64_t{m_} * n_) ? call(work_, size_) : kNotFinite;
  }
  const T* values() const { return s_; }
  const T* u() const { return u_; }
  const T* vh() const { return vh_; }

 private:
  int call(T* work, int size) {
    return Lapack<T>::get().gesdd(job_, m_, n_, a_, m_, s_, u_, m_, vh_, k_, work, size, integers_);
  }
  char job_;
  int m_, n_, k_;
  int size_ = 0;
  T *a_, *s_, *u_, *vh_;
  T* work_ = nullptr;
  int* integers_;
};

template <class T>
class Eigen {
 public:
  Eigen(int n, bool upper, bool vectors, Scratch& memory)
      : job_(vectors ? 'V' : 'N'), triangle_(upper ? 'U' : 'L'), n_(n) {
    a_ = memory.take<T>(std::int64_t{n} * n);
    values_ = memory.take<T>(n);
    if (n == 0) return;
    T best = 0;
    int best_integers = 0;
    call(&best, -1, &best_integers, -1);
    size_ = workspace_size(best);
    integers_size_ = best_integers;
    work_ = memory.take<T>(size_);
    integers_ = memory.take<int>(integers_size_);
  }
  T* matrix() { return a_; }
  int factorize() {
    if (n_ == 0) return 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      const bool upper = triangle_ == 'U';
      if (!all_finite(a_ + j * n_ + (upper ? 0 : j), upper ? j + 1 : n_ - j)) return kNotFinite;
    }
    return call(work_, size_, integers_, integers_size_);
  }
  const T* values() const { return values_; }
  const T* vectors() const { return a_; }

 private:
  int call(T* work, int size, int* integers, int integers_size) {
    return Lapack<T>::get().syevd(job_, triangle_, n_, a_, n_, values_, work, size, integers, integers_size);
  }
  char job_, triangle_;
  int n_;
  int size_ = 0;
  int integers_size_ = 0;
  T *a_, *values_;
  T* work_ = nullptr;
  int* integers_ = nullptr;
};

Tensor tensor_like(const Tensor& a, std::initializer_list<Dim> last) {
  Dims sizes(a.sizes().begin(), a.sizes().end() - 2);
  for (const Dim size : last) sizes.push_back(size);
  return Tensor::empty(sizes, a.dtype(), a.device());
}

}  // namespace

Factored svd(const Tensor& a, bool vectors) {
  return with_real(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int m = matrices.rows();
    const int n = matrices.columns();
    const int k = std::min(m, n);
    const Tensor u = tensor_like(a, {m, vectors ? k : 0});
    const Tensor s = tensor_like(a, {k});
    const Tensor vh = tensor_like(a, {vectors ? k : 0, n});
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* to_u = u.writable<T>();
    T* to_s = s.writable<T>();
    T* to_vh = vh.writable<T>();
    each_matrix(matrices.count(), 10.0 * m * n * (k + 1), [&](Scratch& memory) {
      return [&, m, n, k, svd = Svd<T>(m, n, vectors, memory)](std::int64_t i) mutable {
        matrices.read(i, svd.matrix());
        infos[static_cast<std::size_t>(i)] = svd.factorize();
        std::copy_n(svd.values(), k, to_s + i * k);
        if (!vectors) return;
        write_matrix(svd.u(), m, m, k, to_u + i * m * k);
        write_matrix(svd.vh(), k, k, n, to_vh + i * k * n);
      };
    });
    return first_failure(vectors ? Tensors{u, s, vh} : Tensors{s}, infos);
  });
}

Factored eigh(const Tensor& a, bool upper, bool vectors) {
  return with_real(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int n = matrices.rows();
    const Tensor values = tensor_like(a, {n});
    const Tensor columns = tensor_like(a, {n, vectors ? n : 0});
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* to_values = values.writable<T>();
    T* to_columns = columns.writable<T>();
    each_matrix(matrices.count(), 10.0 * n * n * (n + 1), [&](Scratch& memory) {
      return [&, n, eigen = Eigen<T>(n, upper, vectors, memory)](std::int64_t i) mutable {
        matrices.read(i, eigen.matrix());
        infos[static_cast<std::size_t>(i)] = eigen.factorize();
        std::copy_n(eigen.values(), n, to_values + i * n);
        if (vectors) write_matrix(eigen.vectors(), n, n, n, to_columns + i * n * n);
      };
    });
    return first_failure(vectors ? Tensors{values, columns} : Tensors{values}, infos);
  });
}

}  // namespace kiln::cpu
