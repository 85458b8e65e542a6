// Triangular matrices: Cholesky factorization and substitution.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/linalg/factor.h"
#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

IntDims batch_of(const Tensor& x) { return IntDims(x.sizes().begin(), x.sizes().end() - 2); }

// The library leaves there what was read.
template <class T>
void clear_above_diagonal(int n, T* a) {
  for (std::int64_t j = 0; j < n; ++j) std::fill_n(a + j * n, j, T(0));
}

// The lower factor in place, by columns, from the lower triangle. Of the diagonal the real part counts.
template <class T>
int factorize_small(int n, T* a) {
  for (int j = 0; j < n; ++j) {
    T* column = a + std::ptrdiff_t{j} * n;
    for (int k = 0; k < j; ++k) {
      const T* before = a + std::ptrdiff_t{k} * n;
      const T scale = conjugated(before[j]);
      for (int i = j; i < n; ++i) column[i] -= before[i] * scale;
    }
    if (!(real_part(column[j]) > 0)) return j + 1;
    column[j] = std::sqrt(real_part(column[j]));
    for (int i = j + 1; i < n; ++i) column[i] /= column[j];
  }
  return 0;
}

// Runs f(first, count) over the columns of a right-hand side. The cut is fixed, so threads change no bits.
template <class F>
void each_block_of_columns(int n, int columns, const F& f) {
  const int width = columns <= 256 ? 64 : 128;
  const int blocks = ceil_divide(columns, width);
  const std::int64_t work = std::int64_t{n} * n * width;
  parallel_for(blocks, work < (1 << 22) ? blocks : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      check_interrupt();
      const int first = static_cast<int>(block) * width;
      f(first, std::min(width, columns - first));
    }
  });
}

}  // namespace

Factored first_failure(std::span<const int> infos) {
  const auto found = std::find_if(infos.begin(), infos.end(), [](int info) { return info != 0; });
  if (found == infos.end()) return {};
  return {found - infos.begin(), *found};
}

Factored cholesky(const Tensor& result, const Tensor& a, bool upper) {
  constexpr int kSmall = 12;  // up to this order plain loops are faster than a call
  return with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a);
    const int n = matrices.rows();
    const std::int64_t elements = std::int64_t{n} * n;
    std::vector<int> infos(static_cast<std::size_t>(matrices.count()));
    T* out = result.writable<T>();
    each_matrix(matrices.count(), 0.4 * n * static_cast<double>(elements), [&](Scratch& memory) {
      return [&, l = memory.take<T>(elements)](std::int64_t i) {
        const auto factorize = [n, l] { return Lapack<T>::get().potrf('L', n, l, n); };
        // The upper triangle read transposed is the lower one, and u is l.t(): of complex matrices, the
        // factor of the conjugate one.
        upper ? matrices.read_transposed(i, l) : matrices.read(i, l);
        infos[static_cast<std::size_t>(i)] =
            n <= kSmall
                ? factorize_small(n, l)
                : call_library(memory, static_cast<double>(n) * static_cast<double>(elements) / 3, factorize);
        clear_above_diagonal(n, l);
        if (upper) {
          std::copy_n(l, elements, out + i * elements);
        } else {
          write_matrix(l, n, n, n, out + i * elements);
        }
      };
    });
    return first_failure(infos);
  });
}

void solve_triangular(const Tensor& result, const Tensor& a, const Tensor& b, Triangle triangle, bool left) {
  if (result.numel() == 0) return;
  const IntDims batch = batch_of(result);
  with_element(a.dtype(), [&]<class T>() {
    const Matrices<T> matrices(a, batch);
    const Matrices<T> sides(b, batch);
    const int n = matrices.rows();
    const int columns = left ? sides.columns() : sides.rows();
    const std::int64_t elements = std::int64_t{n} * columns;
    // x a = b is a.t() x.t() = b.t(): the other triangle.
    const char side = triangle.upper == left ? 'U' : 'L';
    const char diagonal = triangle.unit ? 'U' : 'N';
    T* out = result.writable<T>();
    each_matrix(
        matrices.count(), static_cast<double>(n) * static_cast<double>(elements), [&](Scratch& memory) {
          return [&, t = memory.take<T>(std::int64_t{n} * n), x = memory.take<T>(elements)](std::int64_t i) {
            left ? matrices.read(i, t) : matrices.read_transposed(i, t);
            left ? sides.read(i, x) : sides.read_transposed(i, x);
            each_block_of_columns(n, columns, [&](int first, int count) {
              Lapack<T>::get().trsm('L', side, 'N', diagonal, n, count, t, n, x + std::int64_t{first} * n, n);
            });
            if (left) {
              write_matrix(x, n, n, columns, out + i * elements);
            } else {
              std::copy_n(x, elements, out + i * elements);
            }
          };
        });
  });
}

}  // namespace kiln::cpu
