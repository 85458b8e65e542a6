// Singular values: bidiagonal by reflections from both sides, then by divide and conquer.
#include <algorithm>

#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/reflectors.h"
#include "tensor/cpu/linalg/spectral.h"

namespace kiln::cpu {

namespace {

// By the library's driver.
template <class T>
class SmallSvd {
 public:
  static constexpr bool kOnlyTall = false;
  SmallSvd(int m, int n, bool vectors, Scratch& memory)
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
  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, m_, n_, a_);
    if (k_ == 0) return 0;
    return std::isfinite(largest_magnitude(a_, std::int64_t{m_} * n_)) ? call(work_, size_) : kNotFinite;
  }
  const T* values() const { return s_; }
  // Element i of singular vector j at (i, j).
  MatrixView<T> left() const { return {u_, 1, m_}; }
  MatrixView<T> right() const { return {vh_, k_, 1}; }

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

// With vectors, of matrices that are not wide. The library finds those of the bidiagonal matrix, which
// threads then reflect back.
template <class T>
class BlockedSvd {
 public:
  static constexpr bool kOnlyTall = true;
  BlockedSvd(int m, int n, bool /*vectors*/, Scratch& memory)
      : m_(m),
        n_(n),
        lda_(static_cast<int>(spread_rows<T>(m))),
        ldu_(static_cast<int>(spread_rows<T>(round_to_block(m)))),
        ldv_(static_cast<int>(spread_rows<T>(round_to_block(n) + kBlockStep))),
        a_(memory.take<T>(std::int64_t{lda_} * n)),
        s_(memory.take<T>(n)),
        beside_(memory.take<T>(n)),
        tau_left_(memory.take<T>(n)),
        tau_right_(memory.take<T>(n)),
        u_(memory.take<T>(std::int64_t{ldu_} * round_to_block(n))),
        vh_(memory.take<T>(room())),
        v_(memory.take<T>(room())),
        integers_(memory.take<int>(std::int64_t{8} * n)),
        reflectors_(m, memory) {
    T best = 0;
    Lapack<T>::get().gebrd(m, n, a_, lda_, s_, beside_, tau_left_, tau_right_, &best, -1);
    size_ = std::max(workspace_size(best), workspace_size(static_cast<T>(n) * 3 * static_cast<T>(n + 2)));
    work_ = memory.take<T>(size_);
  }

  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, m_, n_, a_, lda_);
    T largest = 0;
    for (int j = 0; j < n_; ++j) {
      const T here = largest_magnitude(a_ + std::int64_t{j} * lda_, m_);
      if (!std::isfinite(here)) return kNotFinite;
      largest = std::max(largest, here);
    }
    const int exponent = exponent_out_of_range(largest);
    for (int j = 0; j < n_; ++j) scale_by_power(a_ + std::int64_t{j} * lda_, m_, exponent);
    const Lapack<T>& lapack = Lapack<T>::get();
    lapack.gebrd(m_, n_, a_, lda_, s_, beside_, tau_left_, tau_right_, work_, size_);
    std::fill_n(u_, std::int64_t{ldu_} * round_to_block(n_), T(0));
    std::fill_n(vh_, room(), T(0));
    std::fill_n(v_, room(), T(0));
    const int info = lapack.bdsdc('U', n_, s_, beside_, u_, ldu_, vh_, ldv_, work_, integers_);
    scale_by_power(s_, n_, -exponent);
    if (info == 0) reflect();
    return info;
  }
  const T* values() const { return s_; }
  // Element i of singular vector j at (i, j).
  MatrixView<T> left() const { return {u_, 1, ldu_}; }
  MatrixView<T> right() const { return {vectors(), 1, ldv_}; }

 private:
  std::int64_t room() const { return std::int64_t{ldv_} * round_to_block(n_); }
  // Reflections leave the first element of a right vector alone: that behind it is the one to align.
  T* vectors() const { return v_ + kBlockStep - 1; }

  // u and v become the products of their reflections and themselves: those of u lie below the diagonal of
  // `a`, those of v in rows right of the diagonal next to it.
  void reflect() {
    constexpr int kPanel = Reflectors<T>::kMost;
    block_kernels().of<T>().transpose(vh_, ldv_, vectors(), ldv_, round_to_block(n_), round_to_block(n_));
    for (int k = (n_ - 1) / kPanel * kPanel; k >= 0; k -= kPanel) {
      reflectors_.read(a_ + k + std::int64_t{k} * lda_, 1, lda_, tau_left_ + k, m_ - k,
                       std::min(kPanel, n_ - k));
      reflectors_.apply(u_ + k, ldu_, n_, false);
    }
    for (int k = (n_ - 2) / kPanel * kPanel; k >= 0; k -= kPanel) {
      const int rows = n_ - 1 - k;
      reflectors_.read(a_ + k + std::int64_t{k + 1} * lda_, lda_, 1, tau_right_ + k, rows,
                       std::min(kPanel, rows));
      reflectors_.apply(vectors() + k + 1, ldv_, n_, false);
    }
  }

  int m_, n_, lda_, ldu_, ldv_;
  int size_ = 0;
  T *a_, *s_, *beside_, *tau_left_, *tau_right_, *u_, *vh_, *v_;
  T* work_ = nullptr;
  int* integers_;
  Reflectors<T> reflectors_;
};

// Much taller than wide, the driver factorizes to a square first.
template <class T, class F>
void with_svd(int m, int n, bool vectors, const F& f) {
  constexpr int kSmall = 32;
  vectors&& n >= kSmall && 6 * std::int64_t{m} < 11 * std::int64_t{n} ? f.template operator()<BlockedSvd<T>>()
                                                                      : f.template operator()<SmallSvd<T>>();
}

template <class T>
MatrixView<T> turned(const MatrixView<T>& x) {
  return {x.data, x.column, x.row};
}

}  // namespace

Factored svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& a) {
  const bool vectors = static_cast<bool>(u);
  return with_real(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int m = matrices.rows();
    const int n = matrices.columns();
    const int k = std::min(m, n);
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* to_u = vectors ? u.writable<T>() : nullptr;
    T* to_s = s.writable<T>();
    T* to_vh = vectors ? vh.writable<T>() : nullptr;
    with_svd<T>(m, n, vectors, [&]<class Svd>() {
      const bool turn = Svd::kOnlyTall && n > m;
      each_matrix(matrices.count(), 10.0 * m * n * (k + 1), [&](Scratch& memory) {
        return [&, m, n, k, svd = Svd(turn ? n : m, turn ? m : n, vectors, memory)](std::int64_t i) mutable {
          int& info = infos[static_cast<std::size_t>(i)];
          info = svd.factorize(turn ? turned(matrices.view(i)) : matrices.view(i));
          if (info != 0) return;
          std::copy_n(svd.values(), k, to_s + i * k);
          if (!vectors) return;
          write_view(turn ? svd.right() : svd.left(), m, k, to_u + i * m * k);
          write_view(turned(turn ? svd.left() : svd.right()), k, n, to_vh + i * k * n);
        };
      });
    });
    return first_failure(infos);
  });
}

}  // namespace kiln::cpu
