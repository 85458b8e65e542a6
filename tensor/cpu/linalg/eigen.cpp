// Eigenvalues of symmetric matrices: tridiagonal by reflections, then by divide and conquer.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/linalg/divide_conquer.h"
#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/cpu/linalg/reflectors.h"
#include "tensor/cpu/linalg/spectral.h"
#include "tensor/cpu/linalg/tridiagonal_kernels.h"
#include "tensor/integers.h"

namespace kiln::cpu {

namespace {

// In two steps: the power itself may be beyond the range.
template <class T>
void scale_by_power(T* x, std::int64_t count, int exponent) {
  if (exponent == 0) return;
  const T first = std::ldexp(T(1), exponent / 2), second = std::ldexp(T(1), exponent - exponent / 2);
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * first * second;
}

// to[i, j], row-major, of rows * columns elements = from(i, j), by several threads when it is large.
template <class T>
void write_view(const MatrixView<T>& from, int rows, int columns, T* to) {
  constexpr int kRows = 64;
  each_piece(ceil_divide(rows, kRows), 8.0 * rows * columns, [&](int piece) {
    const int first = piece * kRows;
    copy_matrix(from.data + first * from.row, from.column, from.row, columns, std::min(kRows, rows - first),
                to + std::int64_t{first} * columns, columns);
  });
}

// By the library's driver.
template <class T>
class SmallEigen {
 public:
  SmallEigen(int n, bool vectors, Scratch& memory) : job_(vectors ? 'V' : 'N'), n_(n), memory_(&memory) {
    a_ = memory.take<T>(std::int64_t{n} * n);
    values_ = memory.take<RealOf<T>>(n);
    if (n == 0) return;
    T best = 0;
    RealOf<T> best_reals = 0;
    call(&best, -1, &best_reals, -1, &integers_size_, -1);
    size_ = workspace_size(best);
    reals_size_ = workspace_size(best_reals);
    work_ = memory.take<T>(size_);
    reals_ = memory.take<RealOf<T>>(reals_size_);
    integers_ = memory.take<int>(integers_size_);
  }
  // The lower triangle.
  int factorize(const MatrixView<T>& from) {
    copy_matrix(from.data, from.row, from.column, n_, n_, a_);
    for (std::int64_t j = 0; j < n_; ++j)
      if (!std::isfinite(largest_magnitude(a_ + j * n_ + j, n_ - j))) return kNotFinite;
    if (n_ == 0) return 0;
    return call_library(*memory_, 1.5 * n_ * n_ * n_, [self = *this] {
      return self.call(self.work_, self.size_, self.reals_, self.reals_size_, self.integers_,
                       self.integers_size_);
    });
  }
  const RealOf<T>* values() const { return values_; }
  void write_vectors(T* to) {
    for (std::int64_t j = 0; j < n_; ++j) settle_phase(a_ + j * n_, n_);
    write_matrix(a_, n_, n_, n_, to);
  }

 private:
  int call(T* work, int size, RealOf<T>* reals, int reals_size, int* integers, int integers_size) const {
    return Lapack<T>::get().syevd(job_, 'L', n_, a_, n_, values_, work, size, reals, reals_size, integers,
                                  integers_size);
  }
  char job_;
  int n_;
  int size_ = 0;
  int reals_size_ = 0;
  int integers_size_ = 0;
  T* a_;
  RealOf<T>* values_;
  T* work_ = nullptr;
  RealOf<T>* reals_ = nullptr;
  int* integers_ = nullptr;
  Scratch* memory_;
};

// With vectors: those of the tridiagonal matrix, which threads then reflect back.
template <class T>
class BlockedEigen {
 public:
  BlockedEigen(int n, bool /*vectors*/, Scratch& memory)
      : n_(n),
        order_(round_to_block(n)),
        ld_(spread_rows<T>(order_)),
        ldz_(spread_rows<T>(order_ + kBlockStep)),
        a_(memory.take<T>(order_ * ld_)),
        v_(memory.take<T>(order_ * ld_)),
        w_(memory.take<T>(kPanel * ld_)),
        z_(memory.take<T>(room())),
        values_(memory.take<T>(n)),
        beside_(memory.take<T>(n)),
        tau_(memory.take<T>(n)),
        reflectors_(n, memory),
        tridiagonal_(n, memory) {}

  // The lower triangle.
  int factorize(const MatrixView<T>& from) {
    const T largest = read(from);
    if (!std::isfinite(largest)) return kNotFinite;
    const int exponent = largest == 0 ? 0 : -std::ilogb(largest);
    for (int i = 0; i < n_; ++i) scale_by_power(a_ + i * ld_, i + 1, exponent);
    mirror();
    reduce();
    std::fill_n(z_, room(), T(0));
    const int info = tridiagonal_.solve(values_, beside_, {vectors(), ldz_}, {z_, ldz_}, {a_, ld_});
    scale_by_power(values_, n_, -exponent);
    if (info == 0) reflect();
    return info;
  }
  const T* values() const { return values_; }
  void write_vectors(T* to) const { write_view({vectors(), 1, ldz_}, n_, n_, to); }

 private:
  static constexpr int kPanel = Reflectors<T>::kMost;
  static_assert(kPanel <= kTridiagonalPanel);

  std::int64_t room() const { return std::int64_t{ldz_} * order_; }
  // Reflections leave the first element of a vector alone: that behind it is the one to align.
  T* vectors() const { return z_ + kBlockStep - 1; }

  // The rows of the triangle, padded with zeros. Returns the largest magnitude, or a nan.
  T read(const MatrixView<T>& from) {
    std::fill_n(a_, order_ * ld_, T(0));
    copy_matrix(from.data, from.column, from.row, n_, n_, a_, ld_);
    T largest = 0;
    for (int i = 0; i < n_ && std::isfinite(largest); ++i) {
      const T here = largest_magnitude(a_ + i * ld_, i + 1);
      largest = here <= largest ? largest : here;
    }
    return largest;
  }
  // Blocks on the diagonal have both triangles.
  void mirror() {
    for (int i = 0; i < n_; ++i)
      for (int j = i / kBlockStep * kBlockStep; j < i; ++j) a_[j * ld_ + i] = a_[i * ld_ + j];
  }

  void reduce() {
    for (int k = 0; k < n_; k += kPanel) {
      const int end = std::min(k + kPanel, n_);
      T* v = v_ + k * ld_;
      block_kernels().of<T>().transpose(a_ + k * ld_ + k, ld_, v + k, ld_, order_ - k,
                                        round_to_block(end - k));
      tridiagonal_kernels().of<T>().reduce(a_, n_, order_, {k, end, ld_, v, w_, values_, beside_, tau_});
      if (end < n_) update(k, end);
    }
  }
  // a -= v w' + w v' right of a panel, where it is read.
  void update(int k, int end) {
    constexpr int kRows = 64;
    const int rest = order_ - end;
    const BlockKernels<T>& kernels = block_kernels().of<T>();
    const T* v = v_ + k * ld_;
    each_piece(ceil_divide(rest, kRows), static_cast<double>(kPanel) * rest * rest, [&](int piece) {
      const int first = end + piece * kRows, last = std::min(first + kRows, order_);
      T* to = a_ + first * ld_ + end;
      kernels.subtract({v + first, 1, ld_}, w_ + end, ld_, to, ld_, last - first, last - end, end - k);
      kernels.subtract({w_ + first, 1, ld_}, v + end, ld_, to, ld_, last - first, last - end, end - k);
    });
  }

  // z becomes the product of the reflections and z.
  void reflect() {
    for (int k = (n_ - 2) / kPanel * kPanel; k >= 0; k -= kPanel) {
      const int rows = n_ - 1 - k;
      reflectors_.read(v_ + k * ld_ + k + 1, ld_, tau_ + k, rows, std::min(kPanel, rows));
      reflectors_.apply(vectors() + k + 1, ldz_, n_);
    }
  }

  int n_, order_;
  std::ptrdiff_t ld_;
  std::ptrdiff_t ldz_;
  T *a_, *v_, *w_, *z_, *values_, *beside_, *tau_;
  Reflectors<T> reflectors_;
  DivideAndConquer<T> tridiagonal_;
};

template <class T, class F>
void with_eigen(int n, bool vectors, const F& f) {
  constexpr int kSmall = 12;  // fewer rows have less to gain from vectors
  if constexpr (kParts<T> == 1) {
    if (vectors && n >= kSmall) return f.template operator()<BlockedEigen<T>>();
  }
  f.template operator()<SmallEigen<T>>();
}

}  // namespace

Factored eigh(const Tensor& values, const Tensor& columns, const Tensor& a, bool upper) {
  const bool vectors = static_cast<bool>(columns);
  return with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int n = matrices.rows();
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    auto* to_values = values.writable<RealOf<T>>();
    T* to_columns = vectors ? columns.writable<T>() : nullptr;
    with_eigen<T>(n, vectors, [&]<class Eigen>() {
      each_matrix(matrices.count(), 10.0 * n * n * (n + 1), [&](Scratch& memory) {
        return [&, n, eigen = Eigen(n, vectors, memory)](std::int64_t i) mutable {
          // The upper triangle read transposed is the lower one: of complex matrices, that of the conjugate
          // one, whose vectors are conjugate.
          const MatrixView<T> from = matrices.view(i);
          int& info = infos[static_cast<std::size_t>(i)];
          info = eigen.factorize(upper ? MatrixView<T>{from.data, from.column, from.row} : from);
          if (info != 0) return;
          std::copy_n(eigen.values(), n, to_values + i * n);
          if (!vectors) return;
          T* const to = to_columns + i * n * n;
          eigen.write_vectors(to);
          if (upper && kParts<T> == 2)
            std::transform(to, to + std::int64_t{n} * n, to, [](T x) { return conjugated(x); });
        };
      });
    });
    return first_failure(infos);
  });
}

}  // namespace kiln::cpu
