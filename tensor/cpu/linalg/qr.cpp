// Orthonormal bases by Householder reflections.
#include <algorithm>

#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"

namespace kiln::cpu {

namespace {

// The factorization of m by n matrices, with room for `columns` columns of q.
template <class T>
class Householder {
 public:
  Householder(int m, int n, int columns, Scratch& memory)
      : m_(m), n_(n), columns_(columns), leading_(std::max(m, 1)), memory_(&memory) {
    const int wide = std::max(n, columns);
    a_ = memory.take<T>(std::int64_t{leading_} * wide);
    tau_ = memory.take<T>(order());
    T best[2] = {};
    Lapack<T>::get().geqrf(m_, n_, a_, leading_, tau_, best, -1);
    Lapack<T>::get().orgqr(m_, columns_, order(), a_, leading_, tau_, best + 1, -1);
    size_ = workspace_size(std::max({real_part(best[0]), real_part(best[1]), static_cast<RealOf<T>>(wide)}));
    work_ = memory.take<T>(size_);
  }

  int order() const { return std::min(m_, n_); }
  void read(const MatrixView<T>& from) { copy_matrix(from.data, from.row, from.column, m_, n_, a_); }
  void factorize() {
    if (order() == 0) return;
    call_library(*memory_, 2.0 * m_ * n_ * order(), [h = *this] {
      return Lapack<T>::get().geqrf(h.m_, h.n_, h.a_, h.leading_, h.tau_, h.work_, h.size_);
    });
  }
  // After `factorize`: the first `rows` rows of r, row-major.
  void write_r(int rows, T* to) const {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < n_; ++j) *to++ = j < i ? T(0) : a_[i + j * leading_];
  }
  // After that: the columns of q from `first` on, row-major.
  void write_q(int first, T* to) {
    if (m_ == 0 || columns_ == 0) return;
    call_library(*memory_, 2.0 * m_ * columns_ * order(), [h = *this] {
      return Lapack<T>::get().orgqr(h.m_, h.columns_, h.order(), h.a_, h.leading_, h.tau_, h.work_, h.size_);
    });
    write_matrix(a_ + std::ptrdiff_t{first} * leading_, leading_, m_, columns_ - first, to);
  }

 private:
  int m_, n_, columns_, leading_;
  int size_ = 0;
  T* a_;
  T* tau_;
  T* work_;
  Scratch* memory_;
};

double householder_work(int m, int n, int columns) {
  return 2.0 * m * std::max(n, columns) * std::min(m, std::max(n, columns));
}

}  // namespace

void qr(const Tensor& q, const Tensor& r, const Tensor& a) {
  const std::int64_t rank = r.size(r.rank() - 2);
  with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int m = matrices.rows();
    const int n = matrices.columns();
    const int rows = static_cast<int>(rank);
    T* to_q = q ? q.writable<T>() : nullptr;
    T* to_r = r.writable<T>();
    each_matrix(matrices.count(), householder_work(m, n, rows), [&](Scratch& memory) {
      return [&, m, n, rows, to_q, to_r, h = Householder<T>(m, n, rows, memory)](std::int64_t i) mutable {
        h.read(matrices.view(i));
        h.factorize();
        h.write_r(rows, to_r + i * rows * n);
        if (to_q != nullptr) h.write_q(0, to_q + i * m * rows);
      };
    });
  });
}

void complement(const Tensor& result, const Tensor& q) {
  with_element(q.dtype(), [&]<class T>() {
    const Matrices<T> matrices(q);
    const int m = matrices.rows();
    const int k = matrices.columns();
    T* to = result.writable<T>();
    each_matrix(matrices.count(), householder_work(m, m, m), [&](Scratch& memory) {
      return [&, m, k, to, h = Householder<T>(m, k, m, memory)](std::int64_t i) mutable {
        h.read(matrices.view(i));
        h.factorize();
        h.write_q(k, to + i * m * (m - k));
      };
    });
  });
}

}  // namespace kiln::cpu
