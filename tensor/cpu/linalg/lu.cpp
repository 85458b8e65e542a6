// Determinants, inverses and solutions by LU factorization with partial pivoting.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/linalg/blocked_lu.h"
#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/library_lu.h"
#include "tensor/cpu/linalg/matrices.h"

namespace kiln::cpu {

namespace {

// Up to this order plain loops are faster than blocks.
constexpr int kSmall = 12;

// The factorization of a small matrix, a = p l u, in place and column-major, with `pivots` as LAPACK counts
// them.
template <class T>
class SmallLu {
 public:
  SmallLu(int n, Scratch& memory)
      : n_(n), a_(memory.take<T>(std::int64_t{n} * n)), pivots_(memory.take<int>(n)), memory_(&memory) {}

  int order() const { return n_; }
  void read(const MatrixView<T>& from) { copy_matrix(from.data, from.row, from.column, n_, n_, a_); }
  // 0, or the number of the first pivot that is zero.
  int factorize() {
    const int n = n_;
    T* a = a_;
    int info = 0;
    for (int k = 0; k < n; ++k) {
      int best = k;
      for (int i = k + 1; i < n; ++i)
        if (std::abs(a[i + k * n]) > std::abs(a[best + k * n])) best = i;
      pivots_[k] = best + 1;
      const T pivot = a[best + k * n];
      if (pivot == T(0)) {
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
  bool is_odd() const {
    bool odd = false;
    for (int k = 0; k < n_; ++k) odd ^= pivots_[k] != k + 1;
    return odd;
  }
  T pivot(int k) const { return a_[k + k * n_]; }
  int swapped_with(int k) const { return pivots_[k] - 1; }
  T packed(int row, int column) const { return a_[row + column * n_]; }

  // to[n, n], row-major. No pivot may be zero, here and below.
  void invert(T* to) const {
    T x[kSmall * kSmall];
    std::fill_n(x, n_ * n_, T(0));
    for (int k = 0; k < n_; ++k) x[k + k * n_] = 1;
    substitute(x, n_);
    write_matrix(x, n_, n_, n_, to);
  }
  // The x[n, columns] with a x = b: to[i * row + j * column] = x[i, j]. `columns` is always the same.
  void solve(const MatrixView<T>& b, int columns, T* to, std::int64_t row, std::int64_t column) {
    if (x_ == nullptr) x_ = memory_->take<T>(std::int64_t{n_} * columns);  // as many each time
    T* const x = x_;
    copy_matrix(b.data, b.row, b.column, n_, columns, x);
    substitute(x, columns);
    if (row == 1) {
      copy_matrix(x, 1, n_, n_, columns, to, column);
    } else {
      copy_matrix(x, n_, 1, columns, n_, to, row);
    }
  }

 private:
  void substitute(T* b, int columns) const {
    const int n = n_;
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

  int n_;
  T* a_;
  T* x_ = nullptr;
  int* pivots_;
  Scratch* memory_;
};

// Calls f with the class that factorizes matrices of order n.
template <class T, class F>
auto with_factorization(int n, const F& f) {
  using Large = std::conditional_t<kParts<T> == 1, BlockedLu<RealOf<T>>, LibraryLu<T>>;
  return n <= kSmall ? f.template operator()<SmallLu<T>>() : f.template operator()<Large>();
}

// Runs f(lu, info, i) for every matrix of a batch, factorized.
template <class T, class F>
void each_factorized(const Tensor& a, const F& f) {
  const Matrices<T> matrices(a);
  const int n = matrices.rows();
  with_factorization<T>(n, [&]<class Lu>() {
    each_matrix(matrices.count(), static_cast<double>(n) * n * n, [&](Scratch& memory) {
      return [&, lu = Lu(n, memory)](std::int64_t i) mutable {
        lu.read(matrices.view(i));
        const int info = lu.factorize();
        f(lu, info, i);
      };
    });
  });
}

IntDims batch_of(const Tensor& x) { return IntDims(x.sizes().begin(), x.sizes().end() - 2); }

}  // namespace

void determinant(const Tensor& result, const Tensor& a) {
  with_element(a.dtype(), [&]<class T>() {
    T* out = result.writable<T>();
    each_factorized<T>(a, [&](const auto& lu, int, std::int64_t i) {
      T product = lu.is_odd() ? -1 : 1;
      for (int k = 0; k < lu.order(); ++k) product *= lu.pivot(k);
      out[i] = product;
    });
  });
}

void sign_and_log_determinant(const Tensor& sign, const Tensor& log, const Tensor& a) {
  with_element(a.dtype(), [&]<class T>() {
    T* signs = sign.writable<T>();
    auto* logs = log.writable<RealOf<T>>();
    each_factorized<T>(a, [&](const auto& lu, int, std::int64_t i) {
      RealOf<T> sum = 0;
      T product = lu.is_odd() ? -1 : 1;
      for (int k = 0; k < lu.order(); ++k) {
        const T pivot = lu.pivot(k);
        product *= direction(pivot);
        sum += std::log(std::abs(pivot));
      }
      signs[i] = product;
      logs[i] = sum;
    });
  });
}

namespace {

// Writes the factors of each matrix, of which `read` gives element (row, column), and its swaps, from 0.
template <class T>
struct PackedOut {
  T* packed;
  std::int32_t* swaps;
  int m, n;

  template <class Read, class Swap>
  void write(std::int64_t i, const Read& read, const Swap& swap) const {
    T* const to = packed + i * m * n;
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < n; ++c) to[std::int64_t{r} * n + c] = read(r, c);
    const int k = std::min(m, n);
    for (int j = 0; j < k; ++j) swaps[i * k + j] = swap(j) + 1;
  }
};

// Those that are not square, by the library.
template <class T>
void rectangular_factors(const Matrices<T>& matrices, const PackedOut<T>& out) {
  const int m = out.m, n = out.n, k = std::min(m, n);
  each_matrix(matrices.count(), static_cast<double>(m) * n * k, [&](Scratch& memory) {
    T* const a = memory.take<T>(std::int64_t{m} * n);
    int* const pivots = memory.take<int>(k);
    return [&, a, pivots](std::int64_t i) {
      matrices.read(i, a);
      call_library(memory, static_cast<double>(m) * n * k,
                   [=] { return Lapack<T>::get().getrf(m, n, a, m, pivots); });
      out.write(
          i, [&](int r, int c) { return a[r + std::int64_t{c} * m]; }, [&](int j) { return pivots[j] - 1; });
    };
  });
}

}  // namespace

void lu_factors(const Tensor& packed, const Tensor& pivots, const Tensor& a) {
  if (packed.numel() == 0) return;
  with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const PackedOut<T> out{packed.writable<T>(), pivots.writable<std::int32_t>(), matrices.rows(),
                           matrices.columns()};
    if (out.m != out.n) return rectangular_factors(matrices, out);
    each_factorized<T>(a, [&](const auto& lu, int, std::int64_t i) {
      out.write(i, [&](int r, int c) { return lu.packed(r, c); }, [&](int j) { return lu.swapped_with(j); });
    });
  });
}

Factored inverse(const Tensor& result, const Tensor& a) {
  return with_element(a.dtype(), [&]<class T>() {
    const std::int64_t order = a.size(a.rank() - 1);
    std::vector<int> infos(static_cast<std::size_t>(count_elements(batch_of(a))));
    T* out = result.writable<T>();
    each_factorized<T>(a, [&](auto& lu, int info, std::int64_t i) {
      if ((infos[static_cast<std::size_t>(i)] = info) == 0) lu.invert(out + i * order * order);
    });
    return first_failure(infos);
  });
}

Factored solve(const Tensor& result, const Tensor& a, const Tensor& b, bool left) {
  const IntDims batch = batch_of(result);
  return with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a, batch);
    const Matrices<T> sides(b, batch);
    const int n = matrices.rows();
    const int columns = left ? sides.columns() : sides.rows();
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* out = result.writable<T>();
    // x a = b is a.t() x.t() = b.t()
    const auto turned = [left](const MatrixView<T>& x) {
      return left ? x : MatrixView<T>{x.data, x.column, x.row};
    };
    with_factorization<T>(n, [&]<class Lu>() {
      each_matrix(matrices.count(), (n + 2.0 * columns) * n * n, [&](Scratch& memory) {
        return [&, lu = Lu(n, memory)](std::int64_t i) mutable {
          lu.read(turned(matrices.view(i)));
          if ((infos[static_cast<std::size_t>(i)] = lu.factorize()) != 0) return;
          T* to = out + i * n * columns;
          left ? lu.solve(turned(sides.view(i)), columns, to, columns, 1)
               : lu.solve(turned(sides.view(i)), columns, to, 1, n);
        };
      });
    });
    return first_failure(infos);
  });
}

}  // namespace kiln::cpu
