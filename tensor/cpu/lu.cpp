// Determinants, inverses and solutions by LU factorization with partial pivoting.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/cpu/factor.h"
#include "tensor/cpu/matrices.h"
#include "tensor/cpu/triangle.h"

namespace kiln::cpu {

namespace {

// Up to this order plain loops are faster than a call.
constexpr int kSmall = 12;

// Calls f with the order of a small matrix, as a constant for the smallest: their loops unroll.
template <class F>
auto with_order(int n, const F& f) {
  switch (n) {
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    default:
      return f(n);
  }
}

// A factorization in place: a = p l u, with `pivots` as LAPACK counts them.
template <class T>
class Lu {
 public:
  Lu(int n, Scratch& memory)
      : n_(n), a_(memory.take<T>(std::int64_t{n} * n)), pivots_(memory.take<int>(n)), inverses_(n, memory) {}

  T* matrix() { return a_; }
  // 0, or the number of the first pivot that is zero.
  int factorize() {
    if (n_ > kSmall) return factorize_by_panels();
    return with_order(n_, [this](auto n) { return this->factorize_small(n); });
  }

  bool is_odd() const {
    bool odd = false;
    for (int k = 0; k < n_; ++k) odd ^= pivots_[k] != k + 1;
    return odd;
  }
  int order() const { return n_; }
  T pivot(int k) const { return at(k, k); }

  // b[n, columns] becomes the x with a x = b. No pivot may be zero.
  void solve(T* b, int columns) {
    if (n_ <= kSmall) return with_order(n_, [&](auto n) { solve_small(n, b, columns); });
    if (columns == 1) {
      Lapack<T>::get().getrs(n_, 1, a_, n_, pivots_, b, n_);
      return;
    }
    inverses_.compute(a_);
    each_block_of_columns(n_, columns, [&](int first, int count) {
      T* part = b + place(0, first);
      swap_rows(part, count);
      Scratch memory;
      inverses_.substitute(a_, part, count, memory);
    });
  }

 private:
  std::ptrdiff_t place(int row, int column) const { return row + static_cast<std::ptrdiff_t>(column) * n_; }
  T& at(int row, int column) { return a_[place(row, column)]; }
  T at(int row, int column) const { return a_[place(row, column)]; }

  void swap_rows(T* b, int columns) const {
    for (int j = 0; j < columns; ++j, b += n_)
      for (int k = 0; k < n_; ++k) std::swap(b[k], b[pivots_[k] - 1]);
  }

  template <class N>
  int factorize_small(const N n) {
    T* a = a_;
    int info = 0;
    for (int k = 0; k < n; ++k) {
      int best = k;
      for (int i = k + 1; i < n; ++i)
        if (std::abs(a[i + k * n]) > std::abs(a[best + k * n])) best = i;
      pivots_[k] = best + 1;
      const T pivot = a[best + k * n];
      if (pivot == 0) {
        if (info == 0) info = k + 1;
        continue;
      }
      for (int j = 0; j < n; ++j) std::swap(a[k + j * n], a[best + j * n]);
      for (int i = k + 1; i < n; ++i) a[i + k * n] /= pivot;
      for (int j = k + 1; j < n; ++j) {
        const T scale = a[k + j * n];
        for (int i = k + 1; i < n; ++i) a[i + j * n] -= a[i + k * n] * scale;
      }
    }
    return info;
  }

  template <class N>
  void solve_small(const N n, T* b, int columns) const {
    const T* a = a_;
    // Column by column within each step: their divisions do not wait for one another.
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < columns; ++j) std::swap(b[k + j * n], b[pivots_[k] - 1 + j * n]);
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < columns; ++j) {
        const T scale = b[k + j * n];
        for (int i = k + 1; i < n; ++i) b[i + j * n] -= a[i + k * n] * scale;
      }
    }
    for (int k = n - 1; k >= 0; --k) {
      for (int j = 0; j < columns; ++j) {
        const T scale = b[k + j * n] /= a[k + k * n];
        for (int i = 0; i < k; ++i) b[i + j * n] -= a[i + k * n] * scale;
      }
    }
  }

  // The library factorizes panels of columns; threads bring the columns right of each up to date.
  int factorize_by_panels() {
    const Lapack<T>& lapack = Lapack<T>::get();
    constexpr int kLarge = 384;
    if (n_ < kLarge) return lapack.getrf(n_, n_, a_, n_, pivots_);
    constexpr int kPanel = 64;
    int info = 0;
    for (int k = 0; k < n_; k += kPanel) {
      const int width = std::min(kPanel, n_ - k);
      const int failed = lapack.getrf(n_ - k, width, &at(k, k), n_, pivots_ + k);
      if (failed > 0 && info == 0) info = k + failed;
      update_columns(k, width);
      for (int i = k; i < k + width; ++i) pivots_[i] += k;
    }
    return info;
  }

  void update_columns(int k, int width) {
    const Lapack<T>& lapack = Lapack<T>::get();
    const int rest = n_ - k - width;
    each_block_of_columns(n_, n_, [&](int first, int count) {
      // The panel itself is done; columns left of it only change rows.
      for (int j = first; j < first + count; ++j) {
        if (j >= k && j < k + width) continue;
        for (int i = 0; i < width; ++i) std::swap(at(k + i, j), at(k + pivots_[k + i] - 1, j));
      }
      const int from = std::max(first, k + width);
      const int columns = first + count - from;
      if (columns <= 0) return;
      substitute('L', 'U', width, columns, &at(k, k), n_, &at(k, from), n_);
      lapack.subtract_product(rest, columns, width, &at(k + width, k), n_, &at(k, from), n_,
                              &at(k + width, from), n_);
    });
  }

  int n_;
  T* a_;
  int* pivots_;
  BlockInverses<T> inverses_;
};

// Runs f(lu, info, i) for every matrix of a batch, factorized.
template <class T, class F>
void each_factorized(const Tensor& a, const F& f) {
  const Matrices<T> matrices(a);
  const int n = matrices.rows();
  each_matrix(matrices.count(), static_cast<double>(n) * n * n, [&](Scratch& memory) {
    return [&, lu = Lu<T>(n, memory)](std::int64_t i) mutable {
      matrices.read(i, lu.matrix());
      const int info = lu.factorize();
      f(lu, info, i);
    };
  });
}

Dims batch_of(const Tensor& x) { return Dims(x.sizes().begin(), x.sizes().end() - 2); }

}  // namespace

Tensor determinant(const Tensor& a) {
  const Tensor result = Tensor::empty(batch_of(a), a.dtype(), a.device());
  with_real(a.dtype(), [&]<class T>() {
    T* out = result.writable<T>();
    each_factorized<T>(a, [&](const Lu<T>& lu, int, std::int64_t i) {
      T product = lu.is_odd() ? -1 : 1;
      for (int k = 0; k < lu.order(); ++k) product *= lu.pivot(k);
      out[i] = product;
    });
  });
  return result;
}

Tensors sign_and_log_determinant(const Tensor& a) {
  const Tensor sign = Tensor::empty(batch_of(a), a.dtype(), a.device());
  const Tensor log = Tensor::empty(batch_of(a), a.dtype(), a.device());
  with_real(a.dtype(), [&]<class T>() {
    T* signs = sign.writable<T>();
    T* logs = log.writable<T>();
    each_factorized<T>(a, [&](const Lu<T>& lu, int, std::int64_t i) {
      T sum = 0;
      T product = lu.is_odd() ? -1 : 1;
      for (int k = 0; k < lu.order(); ++k) {
        const T pivot = lu.pivot(k);
        product *= pivot == 0 ? T(0) : std::copysign(T(1), pivot);
        sum += std::log(std::abs(pivot));
      }
      signs[i] = product;
      logs[i] = sum;
    });
  });
  return {sign, log};
}

Factored inverse(const Tensor& a) {
  const Tensor result = Tensor::empty(a.sizes(), a.dtype(), a.device());
  return with_real(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int n = matrices.rows();
    const std::int64_t elements = std::int64_t{n} * n;
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* out = result.writable<T>();
    each_matrix(matrices.count(), 3.0 * n * static_cast<double>(elements), [&](Scratch& memory) {
      return [&, lu = Lu<T>(n, memory), x = memory.take<T>(elements)](std::int64_t i) mutable {
        matrices.read(i, lu.matrix());
        if ((infos[static_cast<std::size_t>(i)] = lu.factorize()) != 0) return;
        std::fill_n(x, elements, T(0));
        for (int k = 0; k < n; ++k) x[k + std::int64_t{k} * n] = 1;
        lu.solve(x, n);
        write_matrix(x, n, n, n, out + i * elements);
      };
    });
    return first_failure({result}, infos);
  });
}

Factored solve(const Tensor& a, const Tensor& b, bool left) {
  Dims sizes = broadcast(batch_of(a), batch_of(b), "solve");
  const Dims batch = sizes;
  sizes.append(b.sizes().end() - 2, b.sizes().end());
  const Tensor result = Tensor::empty(sizes, b.dtype(), b.device());
  return with_real(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a, batch);
    const Matrices<T> sides(b, batch);
    const int n = matrices.rows();
    const int columns = left ? sides.columns() : sides.rows();
    const std::int64_t elements = std::int64_t{n} * columns;
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* out = result.writable<T>();
    each_matrix(matrices.count(), (n + 2.0 * columns) * n * n, [&](Scratch& memory) {
      return [&, lu = Lu<T>(n, memory), x = memory.take<T>(elements)](std::int64_t i) mutable {
        if (left) {
          matrices.read(i, lu.matrix());
          sides.read(i, x);
        } else {  // x a = b is a.t() x.t() = b.t()
          matrices.read_transposed(i, lu.matrix());
          sides.read_transposed(i, x);
        }
        if ((infos[static_cast<std::size_t>(i)] = lu.factorize()) != 0) return;
        lu.solve(x, columns);
        if (left) {
          write_matrix(x, n, n, columns, out + i * elements);
        } else {
          std::copy_n(x, elements, out + i * elements);
        }
      };
    });
    return first_failure({result}, infos);
  });
}

}  // namespace kiln::cpu
